import { createHash } from 'node:crypto'
import { letterTo } from '../letters.ts'
import { type ClientRun, keepDoing, type RunAccount, type RunClient } from './client-run.ts'

const PAUSE_MILLISECONDS = [200, 1_500] as const
const ANSWER_SECONDS_MAX = 15
const SUBJECT = /^letter (\d+)$/

/** Downloads stored messages, and notes what came of those that came in whole. */
export const readBodies: RunClient = run =>
  keepDoing(run, PAUSE_MILLISECONDS, () => readOne(run, run.random.pick(run.accounts)))

async function readOne({ api, bed, history, random }: ClientRun, { id, user }: RunAccount): Promise<void> {
  const path = `/v1/accounts/${id}/messages`
  const reply = await api.send({ method: 'GET', path: `${path}?limit=100` })
  if (reply.outcome !== 'ok') return
  const items = reply.body['items'] as Array<{ id: string; subject: string | null }>
  const letters = items.filter(({ subject }) => SUBJECT.test(subject ?? ''))
  const [address] = bed.addresses()
  if (letters.length === 0 || address === undefined) return
  const { id: messageId, subject } = random.pick(letters)
  const from = Date.now()
  const bytes = await download(`${address}${path}/${messageId}/raw`, bed.key).catch(() => null)
  if (bytes === null || subject === null) return
  const sent = letterTo(user.email, Number(SUBJECT.exec(subject)?.[1])).raw
  const digests = { digest: digestOf(bytes), sentDigest: digestOf(Buffer.from(sent)) }
  history.add({ type: 'body', from, at: Date.now(), accountId: id, subject, ...digests })
}

/** Null if it is refused. Rejects if it breaks off. */
async function download(url: string, key: string): Promise<Buffer | null> {
  const answer = await fetch(url, {
    headers: { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(ANSWER_SECONDS_MAX * 1_000),
  })
  const bytes = Buffer.from(await answer.arrayBuffer())
  return answer.ok ? bytes : null
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64')
}
