import type { Waxwing } from '../../../../sdk/src/index.ts'
import type { SmtpSink } from '../../servers/smtp-sink.ts'
import { waitUntil } from '../../wait-until.ts'
import type { Attempt } from './random-calls.ts'

/** Errors that tell of the way to the service, not of a refusal. */
const OF_THE_WAY = new Set<string>(['no_connection', 'timeout', 'unreadable_answer', 'incomplete'])

interface Evidence {
  /** A client that nothing disturbs. */
  waxwing: Waxwing
  accountId: string
  sink: SmtpSink
}

/** Waits until everything that was acknowledged is there. @returns what contradicts what the client said, in words */
export async function judge(attempts: readonly Attempt[], evidence: Evidence): Promise<string[]> {
  const wrong = attempts.flatMap(({ kind, name, error }) =>
    error === null || OF_THE_WAY.has(error.code) ? [] : [`${kind} ${name} was refused: ${error.code}`],
  )
  const done = (kind: Attempt['kind']) =>
    attempts.flatMap(each => (each.kind === kind && each.outcome === 'done' ? [each.name] : []))
  const [sent, drafted] = await waitUntil('what was acknowledged', async () => {
    const found = [await countSent(evidence.sink), await countDrafts(evidence)] as const
    const isThere = (names: string[], counts: Map<string, number>) => names.every(name => counts.has(name))
    return isThere(done('send'), found[0]) && isThere(done('draft'), found[1]) ? found : null
  })
  const templates = new Map<string, number>()
  for await (const { name } of evidence.waxwing.templates.list({ limit: 100 }))
    templates.set(name, (templates.get(name) ?? 0) + 1)
  const found = { send: sent, draft: drafted, template: templates }
  for (const { kind, name, outcome, id } of attempts) {
    if (kind === 'read') continue
    const count = kind === 'retext' ? await countText(evidence, id, name) : (found[kind].get(name) ?? 0)
    const isRight = outcome === 'done' ? count === 1 : outcome === 'not_applied' ? count === 0 : count <= 1
    if (!isRight) wrong.push(`${kind} ${name} is ${outcome}, and there ${count} times`)
  }
  return wrong
}

/** Whether a template has this text, as a number. */
async function countText({ waxwing }: Evidence, templateId: string | null, text: string): Promise<number> {
  const template = await waxwing.templates.get({ templateId: templateId ?? '' })
  return Number(template.text === text)
}

async function countSent(sink: SmtpSink): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const { content } of await sink.accepted()) {
    const subject = /^Subject: (.*)$/m.exec(content)?.[1]?.trim() ?? ''
    counts.set(subject, (counts.get(subject) ?? 0) + 1)
  }
  return counts
}

async function countDrafts({ waxwing, accountId }: Evidence): Promise<Map<string, number>> {
  const { items } = await waxwing.mailboxes.list({ accountId })
  const mailboxId = items.find(({ role }) => role === 'drafts')?.id
  const counts = new Map<string, number>()
  if (mailboxId === undefined) return counts
  for await (const { subject } of waxwing.messages.list({ accountId, mailboxId, limit: 100 }))
    counts.set(subject ?? '', (counts.get(subject ?? '') ?? 0) + 1)
  return counts
}
