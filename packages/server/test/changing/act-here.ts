import { type Caller } from '../caller.ts'
import type { Random } from '../seeded.ts'
import { readMailboxes, readMessages } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'

/** A client of the interface of a service that may be killed at any time. */
export interface ActingHere {
  caller(): Caller
  accountId: string
  /** Path of the account. */
  path: string
  random: Random
  /** Whether a message may be in several mailboxes. */
  hasLabels: boolean
  /** Numbers drafts, texts and mailboxes. */
  next(): number
  draftSubject(number: number): string
}

/** Asks the service until it answers: it may be down. */
const unlessKilled = <T>(ask: () => Promise<T>): Promise<T> =>
  waitUntil<T>('the service to answer', async () => ask().catch(() => null))

/** Does one thing by the interface, again until the answer is clear. @returns what it did, in words */
export async function actHere(acting: ActingHere): Promise<string> {
  const { caller, path, accountId, random, hasLabels, next, draftSubject } = acting
  const messages = await unlessKilled(() => readMessages(caller(), accountId))
  const mailboxes = await unlessKilled(() => readMailboxes(caller(), accountId))
  const custom = mailboxes.filter(({ role }) => role === 'custom')
  const kind = random.between(0, 99)
  const message = messages.length > 0 ? random.pick(messages) : null
  const call = async (name: string, send: () => Promise<{ status: number; body: unknown }>) => {
    let last: unknown
    const { status } = await waitUntil('a clear answer', async () => {
      const answer = await send().catch((error: unknown) => {
        last = String(error)
        return null
      })
      if (answer === null) return null
      const isUnclear = [429, 502].includes(answer.status)
      if (isUnclear) last = answer.body
      return isUnclear ? null : answer
    }).catch((error: unknown) => {
      throw new Error(`${name} has no clear answer: ${JSON.stringify(last)}`, { cause: error })
    })
    if (status >= 500) throw new Error(`${name}: ${status}`)
    return `here: ${name}: ${status}`
  }
  if (message === null || kind < 12) {
    const number = next()
    const to = [{ address: `draft-${number}@example.com` }]
    const subject = draftSubject(number)
    const key = { 'idempotency-key': `draft-${number}` }
    return call(`draft ${subject}`, () => caller().post(`${path}/drafts`, { subject, text: 'x', to }, key))
  }
  const at = `${path}/messages/${message.id}`
  if (message.isDraft && kind < 60) {
    const draft = `${path}/drafts/${message.id}`
    const { subject, to } = message
    if (kind < 50)
      return call(`edit ${subject}`, () => caller().put(draft, { subject, to, text: `text ${next()}` }))
    return call(`drop ${subject}`, () => caller().delete(draft))
  }
  if (kind < 40)
    return call(`mark ${message.subject}`, () =>
      caller().patch(at, { isRead: random.chance(0.5), isFlagged: random.chance(0.5) }),
    )
  if (kind < 60) {
    const target = random.pick(mailboxes.filter(({ role }) => role !== 'sent' && role !== 'drafts'))
    return call(`move ${message.subject} to ${target.path}`, () =>
      caller().patch(at, { mailboxId: target.id }),
    )
  }
  if (hasLabels && kind < 70 && custom.length > 1) {
    const [add, remove] = [random.pick(custom), random.pick(custom)]
    if (add.id === remove.id) return 'here: nothing'
    return call(`label ${message.subject}`, () =>
      caller().patch(at, { addMailboxIds: [add.id], removeMailboxIds: [remove.id] }),
    )
  }
  if (kind < 78) return call(`trash ${message.subject}`, () => caller().delete(at))
  if (kind < 82) return call(`remove ${message.subject}`, () => caller().delete(`${at}?permanent=true`))
  if (kind < 88 && custom.length < 6) {
    const number = next()
    const [name, key] = [`Made ${number}`, { 'idempotency-key': `label-${number}` }]
    return call(`create ${name}`, () => caller().post(`${path}/mailboxes`, { name }, key))
  }
  if (kind < 94 && custom.length > 0) {
    const [name, { id }] = [`Named ${next()}`, random.pick(custom)]
    return call(name, () => caller().patch(`${path}/mailboxes/${id}`, { name }))
  }
  if (custom.length > 3) {
    const { id } = random.pick(custom)
    return call('delete a mailbox', () => caller().delete(`${path}/mailboxes/${id}`))
  }
  return 'here: nothing'
}
