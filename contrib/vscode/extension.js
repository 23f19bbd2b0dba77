// Starts `mmacalc lsp` for the files whose matrix instructions it knows.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const PATTERN = "**/*.{s,S,asm,amdgcn,isa,ptx,sass,hip,cu,cuh}";
let client;

exports.activate = async () => {
  const settings = workspace.getConfiguration("mmacalc");
  const architecture = settings.get("architecture");
  const args = architecture ? ["lsp", "-a", architecture] : ["lsp"];
  client = new LanguageClient(
    "mmacalc",
    { command: settings.get("command"), args },
    { documentSelector: [{ scheme: "file", pattern: PATTERN }] },
  );
  await client.start();
};

exports.deactivate = () => client?.stop();
