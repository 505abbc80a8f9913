// Stand-in for bcryptprimitives.dll, which Wine 8 lacks and without which no
// program made by Go 1.22 or later starts. .ci/wine builds it; it is not shipped.
#include <string.h>
#include <windows.h>

BOOLEAN WINAPI SystemFunction036(void *data, ULONG size); // what advapi32 has instead

__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *data, SIZE_T size) {
	return SystemFunction036(data, (ULONG)size);
}

// To the two ways of NtSetInformationFile to delete and to rename that came with
// Windows 10, Wine 8 answers "not implemented", for which no Windows prepares a
// program: Go could then delete no folder. Here they answer as in Windows 8, and
// Go takes the older way. The function, 32 bytes that can lie anywhere, goes on in
// a copy of itself.
typedef LONG WINAPI setter(HANDLE file, void *status, void *data, ULONG size, ULONG class);

static setter *original;

static LONG WINAPI set(HANDLE file, void *status, void *data, ULONG size, ULONG class) {
	enum { disposition_ex = 64, rename_ex = 65 };
	if (class == disposition_ex || class == rename_ex) {
		return 0xC0000003; // STATUS_INVALID_INFO_CLASS
	}
	return original(file, status, data, size, class);
}

BOOL WINAPI DllMain(HINSTANCE dll, DWORD reason, void *reserved) {
	if (reason != DLL_PROCESS_ATTACH) {
		return TRUE;
	}
	BYTE *code = (BYTE *)GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "NtSetInformationFile");
	BYTE jump[12] = {0x48, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xE0}; // mov rax, set; jmp rax
	void *target = (void *)set;
	memcpy(jump + 2, &target, sizeof target);
	DWORD before;
	void *copy = VirtualAlloc(NULL, 32, MEM_COMMIT | MEM_RESERVE, PAGE_EXECUTE_READWRITE);
	if (!code || !copy || !VirtualProtect(code, sizeof jump, PAGE_EXECUTE_READWRITE, &before)) {
		return FALSE;
	}
	original = (setter *)memcpy(copy, code, 32);
	memcpy(code, jump, sizeof jump);
	return VirtualProtect(code, sizeof jump, before, &before);
}
