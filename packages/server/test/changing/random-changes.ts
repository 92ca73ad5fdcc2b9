import type { Mailbox } from '@waxwing/contract/mail/mailboxes.ts'
import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import type { Answer, Caller } from '../caller.ts'
import type { Random } from '../seeded.ts'
import { readMailboxes, readMessages } from '../sync/followed-account.ts'
import { contentOf } from '../sync/other-client.ts'
import { waitUntil } from '../wait-until.ts'

const MAILBOXES_MAX = 12
/** A request is repeated for this long until it has a clear answer. */
const ANSWER_SECONDS_MAX = 60

type Mark = 'isRead' | 'isFlagged'

/** Random requests of a client of the interface, and their answers. Contents are as in `OtherClient`. */
export interface RandomChanges {
  /** Does one thing, until it has a clear answer, and returns a description. */
  act(): Promise<string>
  /** Marks of each content, in order, that requests set with success. */
  marks: Record<Mark, Map<number, boolean[]>>
  moved: Set<number>
  /** Contents that it removed for good, or that were in a mailbox that it deleted. */
  removed: Set<number>
  /** Contents of which a change was refused, perhaps after a part of it was done. */
  unsure: Set<number>
  /** Answers that no request may get. */
  failures: string[]
}

interface Acting {
  caller: Caller
  path: string
  accountId: string
  random: Random
  changes: RandomChanges
  contentsAt: (mailboxPath: string) => Promise<Iterable<number>>
  made: number
}

/** @param contentsAt contents that the server has in a mailbox, or had at some time */
export function openRandomChanges(
  caller: Caller,
  accountId: string,
  random: Random,
  contentsAt: (mailboxPath: string) => Promise<Iterable<number>>,
): RandomChanges {
  const changes: RandomChanges = {
    marks: { isRead: new Map(), isFlagged: new Map() },
    moved: new Set(),
    removed: new Set(),
    unsure: new Set(),
    failures: [],
    act: () => act(acting),
  }
  const path = `/v1/accounts/${accountId}`
  const acting: Acting = { caller, path, accountId, random, changes, contentsAt, made: 500 }
  return changes
}

async function act(acting: Acting): Promise<string> {
  const { caller, path, accountId, random, changes } = acting
  const messages = await readMessages(caller, accountId)
  const kind = random.between(0, 99)
  if (messages.length === 0 || kind < 22) return changeMailboxes(acting)
  const message = random.pick(messages)
  const content = contentOf(message.subject)
  if (kind < 60) return mark(acting, message, content)
  if (kind < 85) {
    const target = random.pick(await readMailboxes(caller, accountId))
    changes.moved.add(content)
    const name = `api: move c${content}. to ${target.path}`
    const isThread = message.threadId !== null && random.chance(0.3)
    const at = isThread ? `/threads/${message.threadId}` : `/messages/${message.id}`
    return said(acting, name, content, () => caller.patch(`${path}${at}`, { mailboxId: target.id }))
  }
  if (kind < 93) {
    changes.moved.add(content)
    const name = `api: delete c${content}. to trash`
    return said(acting, name, content, () => caller.delete(`${path}/messages/${message.id}`))
  }
  changes.removed.add(content)
  const name = `api: delete c${content}. for good`
  return said(acting, name, content, () => caller.delete(`${path}/messages/${message.id}?permanent=true`))
}

async function mark(acting: Acting, message: MessageSummary, content: number): Promise<string> {
  const { caller, path, random, changes } = acting
  const field = random.pick(['isRead', 'isFlagged'] as const)
  const value = random.chance(0.6) ? !message[field] : message[field]
  const name = `api: c${content}. ${field} ${value}`
  const answer = await repeat(() => caller.patch(`${path}/messages/${message.id}`, { [field]: value }))
  if (answer.status !== 200) return refused(acting, name, content, answer)
  changes.marks[field].set(content, [...(changes.marks[field].get(content) ?? []), value])
  return name
}

async function changeMailboxes(acting: Acting): Promise<string> {
  const { caller, path, accountId, random, changes, contentsAt } = acting
  const all = await readMailboxes(caller, accountId)
  const custom = all.filter(mailbox => /Made \d+$/.test(mailbox.path))
  const verb = random.pick(['create', 'rename', 'rename', 'delete'] as const)
  if (verb === 'create' || custom.length === 0) {
    if (all.length >= MAILBOXES_MAX) return 'api: nothing'
    const name = `Made ${acting.made++}`
    const parent = random.chance(0.4) && custom.length > 0 ? random.pick(custom) : null
    const body = { name, ...(parent && { parentId: parent.id }) }
    return said(acting, `api: create ${name}`, null, () => caller.post(`${path}/mailboxes`, body))
  }
  const mailbox = random.pick(custom)
  const at = `${path}/mailboxes/${mailbox.id}`
  if (verb === 'delete') {
    const remove = async () => {
      for (const content of await contentsAt(mailbox.path)) changes.removed.add(content)
    }
    await remove()
    const outcome = await said(acting, `api: delete ${mailbox.path}`, null, () => caller.delete(at))
    // Others may have moved more there meanwhile.
    await remove()
    return outcome
  }
  return rename(acting, mailbox, all)
}

async function rename(acting: Acting, mailbox: Mailbox, all: readonly Mailbox[]): Promise<string> {
  const { caller, path, random } = acting
  const name = `Made ${mailbox.name.replace(/\D/g, '')}${random.between(0, 9)}`
  const parent = random.pick([null, ...all.filter(({ role }) => role === 'custom')])
  const body = { name, ...(random.chance(0.3) && { parentId: parent?.id ?? null }) }
  const at = `${path}/mailboxes/${mailbox.id}`
  return said(acting, `api: rename ${mailbox.path} ${JSON.stringify(body)}`, null, () =>
    caller.patch(at, body),
  )
}

async function said(
  acting: Acting,
  name: string,
  content: number | null,
  send: () => Promise<Answer<unknown>>,
): Promise<string> {
  const answer = await repeat(send)
  return answer.status === 200 ? name : refused(acting, name, content, answer)
}

function refused(
  { changes }: Acting,
  name: string,
  content: number | null,
  { status, body }: Answer<unknown>,
): string {
  if (content !== null) changes.unsure.add(content)
  const described = `${name}: ${status} ${JSON.stringify(body)}`
  if (status >= 500) changes.failures.push(described)
  return described
}

/** Sends a request until its outcome is clear from the answer, as the documentation of errors asks of a client. */
function repeat<Body>(send: () => Promise<Answer<Body>>): Promise<Answer<Body>> {
  return waitUntil(
    'a clear answer',
    async () => {
      const answer = await send()
      return [429, 502, 503].includes(answer.status) ? null : answer
    },
    ANSWER_SECONDS_MAX,
  )
}
