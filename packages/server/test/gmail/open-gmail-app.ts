import type { Mailbox } from '@waxwing/contract/mail/mailboxes.ts'
import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { connectWithGrant } from '../../src/features/accounts/accounts/connect-with-grant.ts'
import type { OAuthClient } from '../../src/accounts/apps/clients.ts'
import { accountKeys } from '../../src/accounts/secrets.ts'
import type { ChangeUnit } from '../../src/calls/context.ts'
import { newId } from '../../src/kit/ids.ts'
import { Secret } from '../../src/kit/secret.ts'
import { openTestApp, type TestApp, type TestAppOptions } from '../open-app.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'
import { describeEvent } from '../changing/changing-account.ts'
import {
  type FeedEvent,
  readFeed,
  readMailboxes,
  readMessages,
  waitForFirstSync,
} from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { wakeSync } from './connect-gmail.ts'
import { configureGmail, type GmailClient, openGmailClient, SCOPES } from './gmail-client.ts'

/** The service with all roles, and a sandbox that plays Gmail. */
export interface GmailApp extends AsyncDisposable {
  app: TestApp
  sandbox: SandboxServer
}

/** The client of the sandbox, as an operator's app. */
const CLIENT = { clientId: 'sandbox', clientSecret: 'sandbox-secret' }
/** The same, as the service has it. */
export const OPERATORS_APP: OAuthClient = {
  provider: 'google',
  cloud: null,
  appId: null,
  clientId: CLIENT.clientId,
  credential: { type: 'secret', secret: new Secret(CLIENT.clientSecret) },
  scopes: null,
}
const NO_LIMIT = 1_000_000

export async function openGmailApp(options: TestAppOptions = {}): Promise<GmailApp> {
  await using opened = new AsyncDisposableStack()
  const sandbox = opened.use(await startSandbox())
  await configureGmail(sandbox, { quota: 'off' })
  const { config, ...rest } = options
  const app = opened.use(
    await openTestApp({
      roles: ['api', 'jobs', 'sync'],
      pace: { pollSeconds: 0.2 },
      config: {
        sandboxUrl: sandbox.controlUrl,
        googleClientId: CLIENT.clientId,
        googleClientSecret: new Secret(CLIENT.clientSecret),
        gmailUnitsPerMinute: NO_LIMIT,
        gmailProjectUnitsPerMinute: NO_LIMIT,
        peopleCallsPerMinute: NO_LIMIT,
        googleCalendarCallsPerMinute: NO_LIMIT,
        ...config,
      },
      ...rest,
    }),
  )
  const owned = opened.move()
  return { app, sandbox, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Connects a mailbox of the sandbox. @returns the account's id */
export async function addGmailAccount(
  { app, sandbox }: GmailApp,
  email: string,
  scopes: readonly string[] = SCOPES,
): Promise<string> {
  const { accessToken, refreshToken } = await sandbox.grant(email, scopes)
  const grant = {
    accessToken: new Secret(accessToken),
    refreshToken: new Secret(refreshToken),
    expiresInSeconds: 3_599,
    scopes,
    halves: { calendar: 'none' as const, contacts: 'none' as const },
    identity: { subject: newId(), email, displayName: 'Ada Lovelace' },
  }
  const settings = { syncWindowDays: null }
  const account = await inTransaction(app.db, app.tenantId, unit =>
    connectWithGrant({ ...unit, wake: () => {} } as ChangeUnit, accountKeys(app.keyRing), {
      client: OPERATORS_APP,
      grant,
      asked: { calendar: true, contacts: true },
      settings,
    }),
  )
  await wakeSync(app.db, account.id)
  return account.id
}

let users = 0

/** An account of Gmail beside another client of the same mailbox. */
export interface GmailAccount {
  accountId: string
  path: string
  email: string
  client: GmailClient
  mailbox(path: string): Promise<Mailbox>
  message(subject: string): Promise<MessageSummary>
  messages(): Promise<MessageSummary[]>
  /** Events of the account since the first sync, in short, after the sync has looked again. */
  settledFeed(): Promise<string[]>
  feed(): Promise<FeedEvent[]>
}

export const letter = (subject: string, extra = '') =>
  `From: Grace <grace@example.com>\r\nTo: me@gmail.test\r\nSubject: ${subject}\r\nMessage-ID: <${subject.replaceAll(' ', '-')}@example.com>\r\nDate: Mon, 1 Jan 2024 10:00:00 +0000\r\n${extra}\r\nText of ${subject}\r\n`

export async function connectGmail(
  opened: GmailApp,
  arrange: (client: GmailClient) => Promise<unknown> = async () => {},
  scopes?: readonly string[],
): Promise<GmailAccount> {
  const { app, sandbox } = opened
  const email = `account-${++users}@gmail.test`
  await sandbox.addUser(email)
  const client = await openGmailClient(sandbox, email)
  await arrange(client)
  const accountId = await addGmailAccount(opened, email, scopes)
  await waitForFirstSync(app, accountId)
  const { cursor } = await readFeed(app)
  const feed = async () => (await readFeed(app, cursor)).events.filter(event => event.accountId === accountId)
  const messages = () => readMessages(app, accountId)
  return {
    accountId,
    path: `/v1/accounts/${accountId}`,
    email,
    client,
    feed,
    messages,
    async mailbox(path) {
      const mailboxes = await readMailboxes(app, accountId)
      const found = mailboxes.find(mailbox => mailbox.path === path)
      if (!found) throw new Error(`no mailbox ${path}: ${mailboxes.map(mailbox => mailbox.path).join(', ')}`)
      return found
    },
    message: subject =>
      waitUntil(
        `the message ${subject}`,
        async () => (await messages()).find(one => one.subject === subject) ?? null,
      ),
    async settledFeed() {
      await letLook(client, messages)
      return (await feed()).map(describeEvent).filter(line => !line.includes(' look '))
    },
  }
}

let looks = 0

/** Lets the sync look twice: each time another client adds a message, which it then deletes. */
async function letLook(client: GmailClient, messages: () => Promise<MessageSummary[]>): Promise<void> {
  for (let times = 0; times < 2; times++) {
    const subject = `look ${++looks}`
    const isIndexed = async () => (await messages()).some(message => message.subject === subject)
    const { id } = await client.insert(letter(subject), ['INBOX'])
    await waitUntil('the sync to see a message', async () => (await isIndexed()) || null)
    await client.delete(id)
    await waitUntil('the sync to see that it is gone', async () => !(await isIndexed()) || null)
  }
}
