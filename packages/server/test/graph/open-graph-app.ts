import { decodeJwt } from 'jose'
import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { accountKeys } from '../../src/accounts/secrets.ts'
import type { ChangeUnit } from '../../src/calls/context.ts'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { connectWithGrant } from '../../src/features/accounts/accounts/connect-with-grant.ts'
import { Secret } from '../../src/kit/secret.ts'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import { subjectOf } from '../../src/providers/microsoft/subject.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import { wakeSync } from '../gmail/connect-gmail.ts'
import { openTestApp, type TestApp, type TestAppOptions } from '../open-app.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'
import { type FeedEvent, readFeed, readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { type GraphClient, openGraphClient } from './graph-client.ts'

/** The service with all roles, and a sandbox that plays Microsoft Graph. */
export interface GraphApp extends AsyncDisposable {
  app: TestApp
  sandbox: SandboxServer
}

const CLIENT = { clientId: 'sandbox', clientSecret: 'sandbox-secret' }
const GRANTED_SECONDS = 3_599

export async function openGraphApp(options: TestAppOptions = {}): Promise<GraphApp> {
  await using opened = new AsyncDisposableStack()
  const sandbox = opened.use(await startSandbox())
  const { config, ...rest } = options
  const app = opened.use(
    await openTestApp({
      roles: ['api', 'jobs', 'sync'],
      pace: { pollSeconds: 0.2 },
      config: {
        sandboxUrl: sandbox.controlUrl,
        microsoftClientId: CLIENT.clientId,
        microsoftClientSecret: new Secret(CLIENT.clientSecret),
        ...config,
      },
      ...rest,
    }),
  )
  const owned = opened.move()
  return { app, sandbox, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Connects a mailbox of the sandbox, as a user would who signed in. @returns the account's id */
export async function addGraphAccount(
  { app, sandbox }: { app: Pick<TestApp, 'db' | 'tenantId' | 'keyRing'>; sandbox: SandboxServer },
  email: string,
  { cloud = 'global' as Cloud, syncWindowDays = null as number | null } = {},
): Promise<string> {
  const scopes = ['Mail.ReadWrite', 'Mail.Send', 'User.Read'].map(
    scope => `https://${CLOUDS[cloud].graph}/${scope}`,
  )
  const { accessToken, refreshToken } = await sandbox.grant(email, scopes, CLIENT.clientId, {
    provider: 'microsoft',
    cloud,
  })
  const claims = decodeJwt(accessToken)
  const account = await inTransaction(app.db, app.tenantId, unit =>
    connectWithGrant({ ...unit, wake: () => {} } as ChangeUnit, accountKeys(app.keyRing), {
      client: {
        provider: 'microsoft',
        cloud,
        appId: null,
        clientId: CLIENT.clientId,
        credential: { type: 'secret', secret: new Secret(CLIENT.clientSecret) },
        scopes: null,
      },
      grant: {
        accessToken: new Secret(accessToken),
        refreshToken: new Secret(refreshToken),
        expiresInSeconds: GRANTED_SECONDS,
        scopes,
        halves: { calendar: 'none', contacts: 'none' },
        identity: {
          subject: subjectOf({ tid: String(claims['tid']), oid: String(claims['oid']) }),
          email,
          displayName: 'Eva Lindqvist',
        },
      },
      asked: { calendar: false, contacts: false },
      settings: { syncWindowDays },
    }),
  )
  await wakeSync(app.db, account.id)
  return account.id
}

/** An account beside another client of the same mailbox. */
export interface GraphAccount {
  accountId: string
  email: string
  client: GraphClient
  /** Events of the account since the first sync. */
  feed(): Promise<FeedEvent[]>
  messages(): Promise<MessageSummary[]>
}

let users = 0

/**
 * Waits until the account is subscribed, and until its folders were listed in the pass that each new subscription brings
 * about. From then on only pushes bring another one about, if the account is polled rarely enough.
 */
export const waitForPushes = (
  { sandbox }: Pick<GraphApp, 'sandbox'>,
  { email }: Pick<GraphAccount, 'email'>,
): Promise<unknown> =>
  waitUntil('the look after the subscription', async () => {
    const { items } = await sandbox.calls({ user: email })
    const ours = items.filter(({ clientId, status }) => clientId === CLIENT.clientId && status !== null)
    const subscribed = ours.findLastIndex(
      ({ path, status }) => path === '/v1.0/subscriptions' && status === 201,
    )
    return subscribed >= 0 && ours.slice(subscribed).some(({ path }) => path.endsWith('/mailFolders'))
  })

/** Connects a new mailbox, and waits for its first sync. */
export async function connectGraph(
  opened: GraphApp,
  {
    messages = 0,
    arrange = async () => {},
    cloud = 'global',
  }: { messages?: number; arrange?(client: GraphClient): Promise<unknown>; cloud?: Cloud } = {},
): Promise<GraphAccount> {
  const { app, sandbox } = opened
  const email = `account-${++users}@office.test`
  await sandbox.addUser(email, { messages, provider: 'microsoft', cloud })
  const client = await openGraphClient(sandbox, email, { cloud, host: CLOUDS[cloud].graph })
  await arrange(client)
  const accountId = await addGraphAccount(opened, email, { cloud })
  await waitForFirstSync(app, accountId, 120)
  const { cursor } = await readFeed(app)
  return {
    accountId,
    email,
    client,
    feed: async () => (await readFeed(app, cursor)).events.filter(event => event.accountId === accountId),
    messages: () => readMessages(app, accountId),
  }
}
