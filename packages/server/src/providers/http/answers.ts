import type { z } from 'zod'
import { ProviderFailure } from '../failure.ts'
import type { OpenAnswer } from './exchange.ts'
import type { ProviderAnswer } from './provider-calls.ts'

/** Bytes of a refusal that are read; more would add nothing for people. */
const REFUSAL_BYTES_MAX = 64 * 1024

/** Reads the beginning of an answer that is no success, and ends it. */
export async function readRefusal(answer: OpenAnswer): Promise<ProviderAnswer> {
  await using opened = answer
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of opened.content) {
    bytes += chunk.length
    if (bytes > REFUSAL_BYTES_MAX) break
    chunks.push(chunk)
  }
  return { status: answer.status, headers: answer.headers, content: Buffer.concat(chunks) }
}

/** Parses an answer; an empty one is `undefined`. Throws `ProviderFailure`, which names the provider. */
export function readAnswer<T>(provider: string, schema: z.ZodType<T>, content: Buffer): T {
  try {
    const { success, data } = schema.safeParse(
      content.length === 0 ? undefined : JSON.parse(content.toString()),
    )
    if (success) return data
  } catch {
    // The failure for content that is not JSON, or is nested too deep to be read, is thrown below.
  }
  throw new ProviderFailure('unavailable', `${provider} answered what the service does not understand.`)
}
