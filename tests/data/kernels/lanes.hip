// Every way to read another lane: out[way * lanes + lane]. test_machine.py says what each gives.
#define __global__ __attribute__((global))
#define WAY(number, value) out[(number) * lanes + lane] = (value)
#define DPP(control, row_mask, bound) __builtin_amdgcn_update_dpp(-1, x, control, row_mask, 15, bound)

extern "C" __global__ void lanes(const int *in, int *out) {
    const int lane = __builtin_amdgcn_workitem_id_x(), lanes = __builtin_amdgcn_wavefrontsize();
    const int x = in[lane];
    WAY(0, DPP(0x1B, 15, 0));   // quad_perm:[3,2,1,0]
    WAY(1, DPP(0x103, 15, 0));  // row_shl:3
    WAY(2, DPP(0x112, 15, 1));  // row_shr:2, bound_ctrl
    WAY(3, DPP(0x125, 15, 0));  // row_ror:5
    WAY(4, DPP(0x140, 15, 0));  // row_mirror
    WAY(5, DPP(0x141, 5, 0));   // row_half_mirror in rows 0 and 2
    WAY(6, __builtin_amdgcn_ds_bpermute((lane * 7 + 3) * 4, x));
    WAY(7, __builtin_amdgcn_ds_permute((lane ^ 5) * 4, x));
    WAY(8, __builtin_amdgcn_ds_swizzle(x, 0x041F | 1 << 10));
    WAY(9, __builtin_amdgcn_readlane(x, 9));
    WAY(10, __builtin_amdgcn_readfirstlane(x));
    WAY(11, __builtin_amdgcn_mbcnt_hi(0x0F0F0F0F, __builtin_amdgcn_mbcnt_lo(0x33333333, 0)));
    int part = -2;
    if (lane % 3 == 1) part = __builtin_amdgcn_readfirstlane(x);
    WAY(12, part);
    part = -2;
    if (lane % 2 == 1) part = __builtin_amdgcn_ds_bpermute((lane / 2) * 4, x);
    WAY(13, part);
#if __GFX11__ || __GFX12__
    WAY(14, __builtin_amdgcn_permlane16(-1, x, 0x76543210, 0x89ABCDEF, false, false));
    WAY(15, __builtin_amdgcn_permlanex16(-1, x, 0x76543210, 0xFEDCBA98, false, false));
#else
    WAY(14, DPP(0x142, 10, 0));  // row_bcast:15 into rows 1 and 3
    WAY(15, DPP(0x143, 12, 0));  // row_bcast:31 into rows 2 and 3
#endif
}
