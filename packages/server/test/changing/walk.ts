import type { Mailbox } from '@waxwing/contract/mail/mailboxes.ts'
import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { expect } from 'vitest'
import type { Answer, Caller } from '../caller.ts'
import type { MailServer, TestUser } from '../servers/mail-server.ts'
import { readChangingTruth } from '../servers/reference.ts'
import { type ChaosProxy, startChaosProxy } from '../servers/chaos-proxy.ts'
import { openWorld, type World } from '../servers/world.ts'
import {
  connectMailbox,
  type FeedEvent,
  readMailboxes,
  readMessages,
  waitForFirstSync,
} from '../sync/followed-account.ts'
import { comeToRest, expectFeedToTell, type Rest } from '../sync/rest.ts'
import { waitUntil } from '../wait-until.ts'
import { describeEvent } from './changing-account.ts'

/** An account of which each change is disturbed once at each of its commands. */
export interface Walked {
  caller: Caller
  server: MailServer
  user: TestUser
  world: World
  accountId: string
}

/** One case: a message in the inbox, and a mailbox with another one, of its own. */
export interface Case {
  walked: Walked
  path: string
  name: string
  message: MessageSummary
  mailbox: Mailbox
  before: Rest
}

/** A change, the commands that carry it out, and what holds when it was carried out once. */
export interface Change {
  name: string
  /** On a server without MOVE and UIDPLUS only those that differ. */
  commands: { full: readonly RegExp[]; poor: readonly RegExp[] }
  send(of: Case): Promise<Answer<unknown>>
  /** Answers of a repetition if it was carried out already. */
  doneStatuses: readonly number[]
  /** Messages of the case on the server afterwards, as `mailbox: subject flags`, and its mailboxes. */
  truth(of: Case): { messages: string[]; mailboxes: string[] }
  /** Events of the feed. */
  events(of: Case): string[]
}

const unchanged = ({ name }: Case) => [`INBOX: ${name}`, `${name}: kept ${name}`]

export const CHANGES: readonly Change[] = [
  {
    name: 'a mark',
    commands: { full: [/^UID STORE/], poor: [] },
    send: ({ walked, path, message }) =>
      walked.caller.patch(`${path}/messages/${message.id}`, { isRead: true }),
    doneStatuses: [200],
    truth: ({ name }) => ({
      messages: [`INBOX: ${name} \\Seen`, `${name}: kept ${name}`],
      mailboxes: [name],
    }),
    events: ({ name }) => [`message.updated ${name} isRead`],
  },
  {
    name: 'a move',
    commands: { full: [/^UID MOVE/], poor: [/^UID COPY/, /^UID STORE/, /^EXPUNGE/] },
    send: ({ walked, path, message, mailbox }) =>
      walked.caller.patch(`${path}/messages/${message.id}`, { mailboxId: mailbox.id }),
    doneStatuses: [200],
    truth: ({ name }) => ({ messages: [`${name}: ${name}`, `${name}: kept ${name}`], mailboxes: [name] }),
    events: ({ name }) => [`message.updated ${name} mailboxIds`],
  },
  {
    name: 'a removal',
    commands: { full: [/^UID STORE/, /^UID EXPUNGE/], poor: [/^UID STORE/, /^EXPUNGE/] },
    send: ({ walked, path, message }) =>
      walked.caller.delete(`${path}/messages/${message.id}?permanent=true`),
    doneStatuses: [200, 404],
    truth: ({ name }) => ({ messages: [`${name}: kept ${name}`], mailboxes: [name] }),
    events: ({ name }) => [`message.deleted ${name}`],
  },
  {
    name: 'a new mailbox',
    commands: { full: [/^CREATE/], poor: [] },
    send: ({ walked, path, name }) => walked.caller.post(`${path}/mailboxes`, { name: `${name} new` }),
    doneStatuses: [200, 409],
    truth: of => ({ messages: unchanged(of), mailboxes: [of.name, `${of.name} new`] }),
    events: ({ name }) => [`mailbox.created ${name} new`],
  },
  {
    name: 'a renaming',
    commands: { full: [/^RENAME/], poor: [] },
    send: ({ walked, path, mailbox, name }) =>
      walked.caller.patch(`${path}/mailboxes/${mailbox.id}`, { name: `${name} new` }),
    doneStatuses: [200],
    truth: ({ name }) => ({
      messages: [`INBOX: ${name}`, `${name} new: kept ${name}`],
      mailboxes: [`${name} new`],
    }),
    events: ({ name }) => [`mailbox.updated ${name} new name path`],
  },
  {
    name: 'the deletion of a mailbox',
    commands: { full: [/^DELETE/], poor: [] },
    send: ({ walked, path, mailbox }) => walked.caller.delete(`${path}/mailboxes/${mailbox.id}`),
    doneStatuses: [200, 404, 422],
    truth: ({ name }) => ({ messages: [`INBOX: ${name}`], mailboxes: [] }),
    events: ({ name }) => [`mailbox.deleted ${name}`, `message.deleted kept ${name}`],
  },
]

/** A mailbox to walk on, which the service reaches through a proxy of faults. */
export interface ProxiedWalk extends AsyncDisposable {
  walked: Walked
  proxy: ChaosProxy
}

export async function openWalk(caller: Caller, server: MailServer): Promise<ProxiedWalk> {
  await using opened = new AsyncDisposableStack()
  const user = await server.addUser()
  const world = opened.use(await openWorld(server, user))
  const proxy = opened.use(await startChaosProxy(server))
  const accountId = await connectMailbox(caller, proxy, user)
  opened.defer(async () => void (await caller.delete(`/v1/accounts/${accountId}`)))
  await waitForFirstSync(caller, accountId)
  const owned = opened.move()
  const walked = { caller, server, user, world, accountId }
  return { walked, proxy, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

let cases = 0

/** Arranges a case as another client, and waits until the index has it. */
export async function arrangeCase(walked: Walked): Promise<Case> {
  const { caller, world, accountId } = walked
  const name = `case ${++cases}`
  const letter = (subject: string) => ({
    raw: `Subject: ${subject}\r\nMessage-ID: <${subject.replaceAll(' ', '-')}@case.test>\r\n\r\nHello\r\n`,
  })
  await world.createMailbox(world.at(name))
  await world.deliver(letter(`kept ${name}`), world.at(name))
  await world.deliver(letter(name))
  const before = await restSoon(walked)
  const message = (await readMessages(caller, accountId)).find(({ subject }) => subject === name)!
  const mailbox = (await readMailboxes(caller, accountId)).find(({ path }) => path === world.at(name))!
  return { walked, path: `/v1/accounts/${accountId}`, name, message, mailbox, before }
}

/** Asks the sync to look, so that its interval is not waited for, and waits until the index equals the server. */
async function restSoon(walked: Walked): Promise<Rest> {
  await walked.caller.post(`/v1/accounts/${walked.accountId}/sync`)
  return rest(walked)
}

/** Waits until the index equals the server. */
export function rest({ caller, ...account }: Walked): Promise<Rest> {
  return comeToRest(caller, account, { acts: 0, kills: 0, log: [], failures: [] })
}

/** The interval at which the sync is asked to find what was carried out and not recorded. */
const ASK_AGAIN_MS = 1_000

/** Sends a request again until it has an answer of one that was carried out. */
export async function repeatUntilDone(change: Change, of: Case): Promise<void> {
  let last: unknown = null
  let askedAt = Number.NEGATIVE_INFINITY
  await waitUntil(`${change.name} to be done`, async () => {
    const { status, body } = await change.send(of)
    last = body
    // The next sync finds a change that was carried out and not recorded.
    const isBeingFound = (body as { code?: string } | null)?.code === 'provider_not_found'
    if (isBeingFound && performance.now() - askedAt > ASK_AGAIN_MS) {
      askedAt = performance.now()
      await of.walked.caller.post(`${of.path}/sync`)
    }
    return change.doneStatuses.includes(status) && (!isBeingFound || change.doneStatuses.includes(404))
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${JSON.stringify(last)}`)
  })
}

/** Expects that what was asked for holds once, on the server, in the index and in the feed. */
export async function expectDoneOnce(change: Change, of: Case, { isExact }: { isExact: boolean }) {
  const { walked, name, before } = of
  // After an exact change, the index has all of it already.
  const after = await (isExact ? rest : restSoon)(walked)
  expect(await readCase(of), `${change.name} on ${walked.server.kind}`).toEqual(change.truth(of))
  expectFeedToTell(before, after)
  const events = after.events.slice(before.events.length).flatMap(event => eventOf(event, of))
  if (isExact) expect(events.toSorted(), `events of ${name}`).toEqual(change.events(of).toSorted())
}

/** Expects that nothing was changed, on the server, in the index and in the feed. */
export async function expectUnchanged(of: Case): Promise<void> {
  const after = await rest(of.walked)
  expect(await readCase(of)).toEqual({ messages: unchanged(of), mailboxes: [of.name] })
  expect(after.events.slice(of.before.events.length).flatMap(event => eventOf(event, of))).toEqual([])
}

const isOf = (text: string, name: string) => new RegExp(`${name}(?!\\d)`).test(text)

async function readCase({ walked: { server, user, world }, name }: Case) {
  const truth = await readChangingTruth(server, user)
  const short = (path: string) => path.slice(world.at('').length)
  const messages = truth.flatMap(({ path, messages: held }) =>
    held
      .filter(({ subject }) => isOf(subject ?? '', name))
      .map(({ subject, flags }) =>
        [`${path === 'INBOX' ? path : short(path)}:`, subject, ...flags].join(' '),
      ),
  )
  const mailboxes = truth.flatMap(({ path }) => (isOf(path, name) ? [short(path)] : []))
  return { messages: messages.toSorted(), mailboxes: mailboxes.toSorted() }
}

function eventOf(event: FeedEvent, { walked: { world }, name }: Case): string[] {
  const described = describeEvent(event).replace(world.at(''), '')
  return isOf(described, name) ? [described] : []
}
