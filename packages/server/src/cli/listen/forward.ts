import { createSecretKey } from 'node:crypto'
import { signedHeaders } from '../../features/notifications/deliveries/signature.ts'
import { reasonOf } from './reason-of.ts'

const USER_AGENT = 'waxwing-webhooks/1'
const ANSWER_SECONDS_MAX = 10
const EXCERPT_CHARACTERS_MAX = 200
/** The most that is read of an answer. */
const BODY_BYTES_MAX = 4096

/** Signs an event and posts it, once. @returns what came of it, in words */
export async function forward(
  { id, text: body }: { id: string; text: string },
  target: URL,
  secret: Buffer,
  signal: AbortSignal,
): Promise<string> {
  const timestampSeconds = Math.floor(Date.now() / 1_000)
  const signed = signedHeaders({ eventId: id, body, timestampSeconds }, [createSecretKey(secret)])
  const startedAt = performance.now()
  try {
    const answer = await fetch(target, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': USER_AGENT, ...signed },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_SECONDS_MAX * 1_000)]),
    })
    const milliseconds = Math.round(performance.now() - startedAt)
    return `${answer.status} in ${milliseconds} ms${await readExcerpt(answer)}`
  } catch (error) {
    return signal.aborted ? 'given up' : `failed, ${reasonOf(error)}`
  }
}

/** The beginning of the answer's text, in one line. */
async function readExcerpt(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of answer.body ?? []) {
    chunks.push(chunk)
    if ((size += chunk.length) >= BODY_BYTES_MAX) break
  }
  const text = Buffer.concat(chunks)
    .toString()
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  const excerpt = [...text].slice(0, EXCERPT_CHARACTERS_MAX).join('')
  return excerpt === '' ? '' : `: ${excerpt}`
}
