import type { Mailbox } from '@waxwing/contract/mail/mailboxes.ts'
import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import type { TestApp } from '../open-app.ts'
import type { MailServer, TestUser } from '../servers/mail-server.ts'
import { readChangingTruth } from '../servers/reference.ts'
import { openWorld, type World } from '../servers/world.ts'
import {
  connectMailbox,
  type FeedEvent,
  readFeed,
  readMailboxes,
  readMessages,
  waitForFirstSync,
} from '../sync/followed-account.ts'
import { askForSync } from '../sync/proxied-account.ts'
import { waitUntil } from '../wait-until.ts'

/** An account that a test changes through the front door, beside another client of the same mailbox. */
export interface ChangingAccount extends AsyncDisposable {
  accountId: string
  /** Path of the account in the interface. */
  path: string
  world: World
  server: MailServer
  user: TestUser
  mailbox(name: string): Promise<Mailbox>
  message(subject: string): Promise<MessageSummary>
  /** Messages of the server, as `path: subject flags`. */
  truth(): Promise<string[]>
  /** Events of the feed since the first sync. */
  feed(): Promise<FeedEvent[]>
  /** The feed in short, after the sync has looked again at least once. */
  settledFeed(): Promise<string[]>
  /** Asks the sync to look at every mailbox now. */
  lookNow(): Promise<void>
}

export async function openChangingAccount(
  app: TestApp,
  server: MailServer,
  arrange: (world: World) => Promise<unknown>,
): Promise<ChangingAccount> {
  await using opened = new AsyncDisposableStack()
  const user = await server.addUser()
  const world = opened.use(await openWorld(server, user))
  await arrange(world)
  const accountId = await connectMailbox(app, server, user)
  await waitForFirstSync(app, accountId)
  const { cursor } = await readFeed(app)
  const readEvents = async () =>
    (await readFeed(app, cursor)).events.filter(event => event.accountId === accountId)
  const path = `/v1/accounts/${accountId}`
  opened.defer(async () => void (await app.delete(path)))
  const owned = opened.move()

  return {
    accountId,
    path,
    world,
    server,
    user,
    async mailbox(name) {
      const found = (await readMailboxes(app, accountId)).find(mailbox => mailbox.path === world.at(name))
      if (!found) throw new Error(`no mailbox ${name}`)
      return found
    },
    async message(subject) {
      const found = (await readMessages(app, accountId)).find(message => message.subject === subject)
      if (!found) throw new Error(`no message ${subject}`)
      return found
    },
    async truth() {
      const mailboxes = await readChangingTruth(server, user)
      return mailboxes.flatMap(({ path: at, messages }) =>
        messages.map(({ subject, flags }) => [`${at}:`, subject, ...flags].join(' ')),
      )
    },
    feed: readEvents,
    async settledFeed() {
      await passTwice(app, accountId, world)
      return (await readEvents()).map(describeEvent)
    },
    lookNow: () => askForSync(app, accountId),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

export function describeEvent({ type, data }: FeedEvent): string {
  const subject = data.message?.subject ?? data.mailbox?.path ?? ''
  return [type, subject, ...(data.changes ?? [])].join(' ')
}

let passes = 0

/**
 * Lets the sync look at all mailboxes twice: each time another client delivers a message, which it then deletes. It is
 * asked to look, so that neither its interval nor the delay of the server's notices is waited for.
 */
async function passTwice(app: TestApp, accountId: string, world: World): Promise<void> {
  for (let pass = 0; pass < 2; pass++) {
    const subject = `pass ${++passes}`
    const uids = await world.deliver({
      raw: `Subject: ${subject}\r\nMessage-ID: <${subject.replace(' ', '-')}@pass.test>\r\n\r\n`,
    })
    const isIndexed = async () =>
      (await readMessages(app, accountId)).some(message => message.subject === subject)
    await askForSync(app, accountId)
    await waitUntil('the sync to see a message', async () => (await isIndexed()) || null)
    await world.expunge('INBOX', uids)
    await askForSync(app, accountId)
    await waitUntil('the sync to see that it is gone', async () => !(await isIndexed()) || null)
  }
}
