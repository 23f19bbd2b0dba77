"""Which SASS opcodes a PTX instruction becomes on each target, as rules.

A row is (words, {targets: opcodes}); the first row whose words the instruction all has decides. Words are
qualifiers of the name, the formats of operands (A:f16, D:f32) and the kinds of A: int8, int4, fp8 (e4m3, e5m2).
Targets are numbers of the sm: "75-89", "90+" (the letter after the number makes no difference). Opcodes begin with

    ~   the target has no such opcode: others, and further instructions around them, do its work
    =   several opcodes of the same kind do it, since the PTX shape is larger than the hardware's
    -   no tensor-core opcode at all

and have in braces: {shape} 16816, {half} the same with half the k, {mnk} 16x8x16, {D} {A} {B} {C} the formats,
{A8} {B8} the 8-bit types of the same sign, {SP} .SP when sparse, {SAT}, {RND}, {OP}, {N} the number of matrices.

Sources: ptxas 13.0.88 for every instruction and target, read with nvdisasm 13.1.80, and ptxas 13.5.37 (the
same); sm_70 is what Turing's compiler does for the same instruction, since no current disassembler reads it (one source).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...model import Instruction

STEPS = "HMMA.884.{D}.{C}.STEP0 + HMMA.884.{D}.{C}.STEP1"
UNPACK = "xMOVM.U4TO8.M832 + "
BITS = {"75-89": "BMMA.{shape}.{OP}.POPC"}

ROWS = (
    ("wmma mma A:f16 D:f16 C:f16", {"75": "=4xHMMA.1688.F16", "80+": "=2xHMMA.16816.F16"}),
    ("wmma mma A:f16", {"75": "=4xHMMA.1688.F32", "80+": "=2xHMMA.16816.F32"}),
    ("wmma mma A:bf16", {"80+": "=2xHMMA.16816.F32.BF16"}),
    ("wmma mma A:tf32", {"80+": "=4xHMMA.1684.F32.TF32"}),
    ("wmma mma m8n8k4 A:f64", {"80-89": "DMMA.884{RND}", "90+": "DMMA.8x8x4{RND}"}),
    ("wmma mma int8", {"75": "=4xIMMA.8816.{A}.{B}{SAT}", "80+": "=2xIMMA.16816.{A}.{B}{SAT}"}),
    ("wmma mma int4", {"75-89": "IMMA.8832.{A}.{B}{SAT}", "90": "~2xIMMA.8816.{A8}.{B8}", "100+": "~2xIMMA.16816.{A8}.{B8}"}),
    ("wmma mma and", {**BITS, "90": "BMMA.{shape}.AND.POPC", "100+": f"~8{UNPACK}4xIMMA.16832.U8.U8"}),
    ("wmma mma xor", {**BITS, "90": "~2xBMMA.{shape}.AND.POPC", "100+": f"~8{UNPACK}4xIMMA.16832.U8.U8"}),
    ("mma m8n8k4 A:f16 D:f16", {"70-75": STEPS, "80+": "-"}),
    ("mma m8n8k4 A:f16", {"70-75": STEPS + " + HMMA.884.{D}.{C}.STEP2 + HMMA.884.{D}.{C}.STEP3", "80+": "-"}),
    ("mma A:f16", {"75+": "HMMA{SP}.{shape}.{D}"}),
    ("mma A:bf16", {"80+": "HMMA{SP}.{shape}.{D}.BF16"}),
    ("mma A:tf32", {"80+": "HMMA{SP}.{shape}.{D}.TF32"}),
    ("mma m8n8k4 A:f64", {"80-89": "DMMA.884{RND}", "90+": "DMMA.8x8x4{RND}"}),
    ("mma m16n8k4 A:f64", {"90": "DMMA.{mnk}{RND}", "100+": "=2xDMMA.8x8x4{RND}"}),
    ("mma m16n8k8 A:f64", {"90": "DMMA.{mnk}{RND}", "100+": "=4xDMMA.8x8x4{RND}"}),
    ("mma m16n8k16 A:f64", {"90": "DMMA.{mnk}{RND}", "100+": "=8xDMMA.8x8x4{RND}"}),
    ("mma m8n8k16 int8", {"75-90": "IMMA.8816.{A}.{B}{SAT}", "100+": "IMMA.16816.{A}.{B}{SAT}"}),
    ("mma int8", {"80+": "IMMA{SP}.{shape}.{A}.{B}{SAT}"}),
    ("mma m8n8k32 int4", {"75-89": "IMMA.8832.{A}.{B}{SAT}", "90": "~2xIMMA.8816.{A8}.{B8}", "100+": "~2xIMMA.16816.{A8}.{B8}"}),
    ("mma int4", {"80-89": "IMMA{SP}.{shape}.{A}.{B}{SAT}", "90+": "~2xIMMA{SP}.{half}.{A8}.{B8}"}),
    ("mma m8n8k128 and", {**BITS, "90": "BMMA.{shape}.AND.POPC", "100+": f"~8{UNPACK}4xIMMA.16832.U8.U8"}),
    ("mma m16n8k128 and", {**BITS, "90": "BMMA.{shape}.AND.POPC", "100+": f"~12{UNPACK}4xIMMA.16832.U8.U8"}),
    ("mma m16n8k256 and", {**BITS, "90": "BMMA.{shape}.AND.POPC", "100+": f"~24{UNPACK}8xIMMA.16832.U8.U8"}),
    ("mma m8n8k128 xor", {**BITS, "90": "~2xBMMA.{shape}.AND.POPC", "100+": f"~8{UNPACK}4xIMMA.16832.U8.U8"}),
    ("mma m16n8k128 xor", {**BITS, "90": "~2xBMMA.{shape}.AND.POPC", "100+": f"~12{UNPACK}4xIMMA.16832.U8.U8"}),
    ("mma m16n8k256 xor", {**BITS, "90": "~2xBMMA.{shape}.AND.POPC", "100+": f"~24{UNPACK}8xIMMA.16832.U8.U8"}),
    ("mma scale_vec::4x ue4m3", {"120+": "OMMA.SF{SP}.{shape}.{D}.{A}.{B}.UE4M3.4X"}),
    ("mma scale_vec::4x ue8m0", {"120+": "OMMA.SF{SP}.{shape}.{D}.{A}.{B}.E8.4X"}),
    ("mma kind::mxf4nvf4", {"120+": "OMMA.SF{SP}.{shape}.{D}.{A}.{B}.E8"}),
    ("mma kind::mxf4", {"120+": "OMMA.SF{SP}.{shape}.{D}.{A}.{B}.E8"}),
    ("mma kind::mxf8f6f4", {"120+": "QMMA.SF{SP}.{shape}.{D}.{A}.{B}.E8"}),
    ("mma kind::f8f6f4", {"100-110": "~2xHMMA{SP}.{half}.{D}", "120+": "QMMA{SP}.{shape}.{D}.{A}.{B}"}),
    ("mma fp8", {"89": "QMMA{SP}.{shape}.{D}.{A}.{B}", "90-110": "~2xHMMA{SP}.{half}.{D}", "120+": "QMMA{SP}.{shape}.{D}.{A}.{B}"}),
    ("wgmma A:f16", {"90": "HGMMA{SP}.{mnk}.{D}"}),
    ("wgmma A:bf16", {"90": "HGMMA{SP}.{mnk}.{D}.BF16"}),
    ("wgmma A:tf32", {"90": "HGMMA{SP}.{mnk}.{D}.TF32"}),
    ("wgmma fp8", {"90": "QGMMA{SP}.{mnk}.{D}.{A}.{B}"}),
    ("wgmma int8", {"90": "IGMMA{SP}.{mnk}.{A}.{B}{SAT}"}),
    ("wgmma and", {"90": "BGMMA.{mnk}.AND.POPC"}),
    ("ldmatrix m8n8 trans", {"75+": "LDSM.16.MT88{N}"}),
    ("ldmatrix m8n8", {"75+": "LDSM.16.M88{N}"}),
    ("ldmatrix m16n16 b8", {"100+": "LDSM.8.MT1616{N}"}),
    ("ldmatrix m16n16 b6x16_p32", {"100+": "LDSM.U6x16P32TO8.MT1616{N}"}),
    ("ldmatrix m16n16 b4x16_p64", {"100+": "LDSM.U4x16P64TO8.MT1616{N}"}),
    ("ldmatrix b6x16_p32", {"100+": "LDSM.U6x16P32TO8.M816{N}"}),
    ("ldmatrix b4x16_p64", {"100+": "LDSM.U4x16P64TO8.M816{N}"}),
    ("stmatrix m8n8 trans", {"90+": "STSM.16.MT88{N}"}),
    ("stmatrix m8n8", {"90+": "STSM.16.M88{N}"}),
    ("stmatrix m16n8", {"100+": "STSM.8.MT168{N}"}),
    ("movmatrix", {"75+": "MOVM.16.MT88"}),
)

KINDS = {"i8": "int8", "u8": "int8", "i4": "int4", "u4": "int4", "e4m3": "fp8", "e5m2": "fp8"}
# mma.sp without ::ordered_metadata: from sm_100 on these types need tens of instructions to put it in order first.
REORDERED = ("f16", "bf16", "i8", "u8")
STATUS = {"~": "emulated", "=": "native, several", "-": "emulated"}


def becomes(instruction: Instruction, target: str) -> tuple[str, str]:
    """The SASS opcodes of an instruction on a target, and whether it is "native", "native, several" or "emulated".

    Two empty texts where it is not known (wmma loads and stores become what their layout needs).

    >>> import mmacalc
    >>> becomes(mmacalc.instruction("sm_90a", "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32"), "sm_90a")
    ('2xIMMA.8816.S8.S8', 'emulated')
    """
    kind = KINDS.get(instruction.formats.get("A", ""), "")
    formats = {f"{operand}:{name}" for operand, name in instruction.formats.items()}
    words = {*instruction.name.lower().split("."), kind, *formats}
    number = int(target[3:].rstrip("af"))
    for row, targets in ROWS:
        if words.issuperset(row.split()):
            text = next((text for which, text in targets.items() if _covers(which, number)), "")
            status = STATUS.get(text[:1], "native") if text else ""
            unordered = instruction.sparse and "ordered" not in instruction.features and row.startswith("mma")
            if status == "native" and unordered and number >= 100 and instruction.formats["A"] in REORDERED:
                status = "native, after instructions that put the metadata in order"
            return _filled(text.lstrip("~=-"), instruction) or ("no tensor-core opcode" if text else ""), status
    return "", ""


def _covers(which: str, number: int) -> bool:
    first, _, last = which.rstrip("+").partition("-")
    return int(first) <= number <= (int(last) if last else 1000 if which.endswith("+") else int(first))


def _filled(text: str, inst: Instruction) -> str:
    names = {operand: name.upper().replace("I", "S") for operand, name in inst.formats.items()}
    rounding = (inst.rounding or "rn")
    return text.format(
        shape=f"{inst.m}{inst.n}{inst.k}",
        half=f"{inst.m}{inst.n}{inst.k // 2}",
        mnk=f"{inst.m}x{inst.n}x{inst.k}",
        A8=names.get("A", "").replace("4", "8"),
        B8=names.get("B", "").replace("4", "8"),
        SP=".SP" if inst.sparse else "",
        SAT=".SAT" if "satfinite" in inst.features else "",
        RND="" if rounding == "rn" else f".{rounding.upper()}",
        OP=inst.bit_operation.upper(),
        N=f".{inst.blocks}" if inst.blocks > 1 else "",
        **{operand: names.get(operand, "") for operand in "ABCD"},
    )
