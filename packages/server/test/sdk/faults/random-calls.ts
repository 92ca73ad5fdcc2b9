import type { Waxwing } from '../../../../sdk/src/index.ts'
import { WaxwingError } from '../../../../sdk/src/index.ts'
import type { Random } from '../../seeded.ts'
import { GRACE } from '../../sending/open-sending.ts'

/** A write and what the client says of it. */
export interface Attempt {
  kind: Kind
  /** Names what is written, once in a run. */
  name: string
  /** `done`: acknowledged. */
  outcome: 'done' | 'not_applied' | 'unknown'
  error: WaxwingError | null
  /** The id of what was written, if it is known. */
  id: string | null
}
type Kind = 'send' | 'draft' | 'template' | 'retext' | 'read'

const KINDS: readonly Kind[] = ['send', 'draft', 'template', 'template', 'retext', 'retext', 'read', 'read']
const AT_ONCE = 8

/** Calls operations at random, several at once. @returns what became of each */
export async function callAtRandom(
  waxwing: Waxwing,
  { accountId, random, calls, run }: { accountId: string; random: Random; calls: number; run: string },
): Promise<Attempt[]> {
  const attempts: Attempt[] = []
  /** Templates that were acknowledged; each is changed once at most. */
  const templates: string[] = []
  let next = 0
  const work = async () => {
    for (let at = next++; at < calls; at = next++) {
      const kind = random.pick(KINDS)
      const attempt = await tryCall(waxwing, { kind, name: `${run} ${at}`, accountId, templates })
      attempts.push(attempt)
      if (kind === 'template' && attempt.id !== null) templates.push(attempt.id)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return attempts
}

interface Call {
  kind: Kind
  name: string
  accountId: string
  templates: string[]
}

async function tryCall(waxwing: Waxwing, call: Call): Promise<Attempt> {
  const { name } = call
  const templateId = call.kind === 'retext' ? call.templates.shift() : undefined
  // Nothing to change yet.
  const kind = call.kind === 'retext' && templateId === undefined ? 'read' : call.kind
  try {
    const made = await makeCall(waxwing, { ...call, kind }, templateId ?? '')
    return { kind, name, outcome: 'done', error: null, id: templateId ?? made }
  } catch (error) {
    if (!(error instanceof WaxwingError)) throw error
    return { kind, name, outcome: error.outcome, error, id: templateId ?? null }
  }
}

async function makeCall(
  waxwing: Waxwing,
  { kind, name, accountId }: Call,
  templateId: string,
): Promise<string | null> {
  if (kind === 'send')
    return (await waxwing.outbox.create({ accountId, to: [GRACE], subject: name, text: 'Hello.\n' })).id
  if (kind === 'draft') return (await waxwing.drafts.create({ accountId, subject: name })).id
  if (kind === 'template') return (await waxwing.templates.create({ name, text: 'first' })).id
  if (kind === 'retext') return (await waxwing.templates.update({ templateId, text: name })).id
  for await (const _ of waxwing.templates.list({ limit: 50 })) break
  return null
}
