import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { SealError, seal, unseal } from '../../../kit/seal.ts'
import type { AccountKeys, KeyedAccount } from '../../../accounts/secrets.ts'

/** Bytes that the links of one message have at most. */
const LINKS_BYTES_MAX = 64 * 1024 * 1024

/** The URLs of a message as they are stored: content of mail, and so sealed like it. */
export function sealLinks(
  accountKeys: AccountKeys,
  account: KeyedAccount,
  outboxId: string,
  urls: readonly string[],
): Buffer {
  const { key, context } = accountKeys.linksSealing(account)(outboxId)
  return seal(key, zstdCompressSync(JSON.stringify(urls)), context)
}

/** The URLs of a message. None if its account was purged. */
export function openLinks(
  accountKeys: AccountKeys,
  account: KeyedAccount,
  outboxId: string,
  links: Buffer | null,
): readonly string[] {
  if (links === null) return []
  try {
    const { key, context } = accountKeys.linksSealing(account)(outboxId)
    const plain = zstdDecompressSync(unseal(key, links, context), { maxOutputLength: LINKS_BYTES_MAX })
    // Only `sealLinks` writes it.
    return JSON.parse(plain.toString()) as string[]
  } catch (error) {
    if (error instanceof SealError && account.data_key === null) return []
    throw error
  }
}
