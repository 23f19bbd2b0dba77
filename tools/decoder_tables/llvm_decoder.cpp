// LLVM's decoder as a filter: a line of hexadecimal bytes in, what they decode to out.
//
//   size|opcode|text|operand;operand;...    "~" before the size: LLVM calls it undefined; "-": no instruction
//   D opcode  ->  name|definitions|type,register class,tied to;...|implicit uses|implicit definitions|flags
//                 flags: those of MCInstrDesc by name, then TSFlags as a number
//   N         ->  how many opcodes there are
//   F         ->  flushes
//
// Build (headers of llvm-22-dev): see __main__.py.

#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCExpr.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include <csetjmp>
#include <csignal>
#include <iostream>
#include <string>

using namespace llvm;
extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

// Some words crash LLVM; they are no instructions.
static sigjmp_buf after_crash;
static void crashed(int) { siglongjmp(after_crash, 1); }

static void describe(const MCInstrInfo &instructions, const MCRegisterInfo &registers, unsigned opcode) {
  const MCInstrDesc &desc = instructions.get(opcode);
  outs() << instructions.getName(opcode) << "|" << desc.getNumDefs() << "|";
  for (unsigned i = 0; i < desc.getNumOperands(); ++i) {
    const MCOperandInfo &operand = desc.operands()[i];
    int kind = instructions.getOpRegClassID(operand, 0);
    outs() << (i ? ";" : "") << int(operand.OperandType) << ","
           << (kind >= 0 ? registers.getRegClassName(&registers.getRegClass(kind)) : "-") << ","
           << desc.getOperandConstraint(i, MCOI::TIED_TO);
  }
  outs() << "|";
  for (auto each : desc.implicit_uses())
    outs() << registers.getName(each) << " ";
  outs() << "|";
  for (auto each : desc.implicit_defs())
    outs() << registers.getName(each) << " ";
  outs() << "|" << (desc.mayLoad() ? "load " : "") << (desc.mayStore() ? "store " : "")
         << (desc.isBranch() ? "branch " : "") << (desc.isCall() ? "call " : "") << (desc.isBarrier() ? "barrier " : "")
         << (desc.isTerminator() ? "terminator " : "") << (desc.isReturn() ? "return " : "")
         << (desc.isIndirectBranch() ? "indirect " : "") << (desc.isCompare() ? "compare " : "")
         << (desc.isConvergent() ? "convergent " : "") << desc.TSFlags << "\n";
}

int main(int argc, char **argv) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUDisassembler();
  std::string error, line, features = argc > 2 ? argv[2] : "";
  Triple triple("amdgcn-amd-amdhsa");
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  MCTargetOptions options;
  std::unique_ptr<MCRegisterInfo> registers(target->createMCRegInfo(triple));
  std::unique_ptr<MCAsmInfo> info(target->createMCAsmInfo(*registers, triple, options));
  std::unique_ptr<MCInstrInfo> instructions(target->createMCInstrInfo());
  std::unique_ptr<MCSubtargetInfo> subtarget(target->createMCSubtargetInfo(triple, argv[1], features));
  MCContext context(triple, info.get(), registers.get(), subtarget.get());
  std::unique_ptr<MCDisassembler> disassembler(target->createMCDisassembler(*subtarget, context));
  std::unique_ptr<MCInstPrinter> printer(target->createMCInstPrinter(triple, 0, *info, *instructions, *registers));
  for (int number : {SIGSEGV, SIGABRT, SIGILL, SIGBUS, SIGFPE})
    signal(number, crashed);
  while (std::getline(std::cin, line)) {
    if (line[0] == 'F') {
      outs().flush();
      continue;
    }
    if (line[0] == 'N') {
      outs() << instructions->getNumOpcodes() << "\n";
      continue;
    }
    if (line[0] == 'D') {
      describe(*instructions, *registers, std::stoi(line.substr(2)));
      continue;
    }
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i + 1 < line.size(); i += 2)
      bytes.push_back(std::stoi(line.substr(i, 2), nullptr, 16));
    if (sigsetjmp(after_crash, 1)) {
      outs() << "-\n";
      continue;
    }
    MCInst instruction;
    uint64_t size = 0;
    auto status = disassembler->getInstruction(instruction, size, bytes, 0, nulls());
    if (status == MCDisassembler::Fail) {
      outs() << "-\n";
      continue;
    }
    std::string text;
    raw_string_ostream stream(text);
    printer->printInst(&instruction, 0, "", *subtarget, stream);
    outs() << (status == MCDisassembler::Success ? "" : "~") << size << "|" << instruction.getOpcode() << "|"
           << StringRef(text).trim() << "|";
    for (unsigned i = 0; i < instruction.getNumOperands(); ++i) {
      const MCOperand &operand = instruction.getOperand(i);
      outs() << (i ? ";" : "");
      if (operand.isReg())
        outs() << (operand.getReg() ? registers->getName(operand.getReg()) : "-");
      else if (operand.isImm())
        outs() << "#" << operand.getImm();
      else
        outs() << "?";
    }
    outs() << "\n";
  }
}
