import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import type { Answer, Caller } from '../caller.ts'
import { SCOPES } from '../gmail/gmail-client.ts'
import { openGraphClient } from '../graph/graph-client.ts'
import { CONTACTS_SCOPE } from '../people/arrange-people.ts'
import { configurePeople, otherClient } from '../people/other-client.ts'
import { davTestClient } from '../servers/dav-client.ts'
import { connectionWithDav } from '../servers/dav-connection.ts'
import type { DavTestServer } from '../servers/dav-test-server.ts'
import type { MailServer } from '../servers/mail-server.ts'
import type { SandboxServer } from '../servers/sandbox.ts'
import { davContacts } from './dav-contacts.ts'
import { graphContacts } from './graph-contacts.ts'
import { peopleContacts } from './people-contacts.ts'
import type { OtherContacts } from './other-contacts.ts'

/** A new user of a provider, whose contacts another client changes. */
export interface ContactWorld extends AsyncDisposable {
  other: OtherContacts
  /** Connects the user. @returns the id of the account */
  connect(caller: Caller): Promise<string>
}

/** A server of CardDAV of its own, beside a mailbox. */
export async function davWorld(
  start: () => Promise<DavTestServer>,
  mailServer: MailServer,
): Promise<ContactWorld> {
  await using opened = new AsyncDisposableStack()
  const server = opened.use(await start())
  const davUser = await server.addUser()
  const client = davTestClient(server, davUser)
  const book = await client.makeBook('people', 'People')
  const connection = connectionWithDav(mailServer, await mailServer.addUser(), {
    dav: server,
    davUser,
    half: 'contactsUrl',
  })
  const owned = opened.move()
  return {
    other: davContacts(client, davUser.homePath, book),
    connect: async caller => idOf(await caller.post<Account>('/v1/imap-accounts', connection)),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

const CLIENT = { id: 'sandbox', secret: 'sandbox-secret' }
const NO_QUOTA = '1000000'
const OPENID = ['openid', 'profile', 'email']
const GRAPH = ['User.Read', 'Mail.ReadWrite', 'Mail.Send', 'Contacts.ReadWrite']

/** The variables by which the service uses the sandbox, and its OAuth apps. */
export function sandboxEnv({ controlUrl }: SandboxServer): Record<string, string> {
  return {
    WAXWING_SANDBOX_URL: controlUrl,
    WAXWING_GOOGLE_CLIENT_ID: CLIENT.id,
    WAXWING_GOOGLE_CLIENT_SECRET: CLIENT.secret,
    WAXWING_PEOPLE_CALLS_PER_MINUTE: NO_QUOTA,
    WAXWING_PEOPLE_PROJECT_CALLS_PER_MINUTE: NO_QUOTA,
    WAXWING_MICROSOFT_CLIENT_ID: CLIENT.id,
    WAXWING_MICROSOFT_CLIENT_SECRET: CLIENT.secret,
    WAXWING_MICROSOFT_CHINA_CLIENT_ID: CLIENT.id,
    WAXWING_MICROSOFT_CHINA_CLIENT_SECRET: CLIENT.secret,
  }
}

/** A user of Microsoft, who is new for each cloud and number. */
export async function graphWorld(sandbox: SandboxServer, nth: number, cloud: Cloud): Promise<ContactWorld> {
  const email = `${cloud}-${nth}@office.test`
  const at = { provider: 'microsoft', cloud }
  const { graph: host } = CLOUDS[cloud]
  await sandbox.control('PATCH', '/graph', { limits: 'off' })
  await sandbox.addUser(email, { messages: 0, ...at })
  const client = await openGraphClient(sandbox, email, { cloud, host })
  const scopes = [...OPENID, 'offline_access', ...GRAPH.map(scope => `https://${host}/${scope}`)]
  return {
    other: graphContacts(client),
    async connect(caller) {
      const { refreshToken } = await sandbox.grant(email, scopes, CLIENT.id, at)
      const body = {
        provider: 'microsoft',
        microsoftCloud: cloud,
        refreshToken,
        settings: { contactsEnabled: true },
      }
      return idOf(await caller.post<Account>('/v1/accounts', body))
    },
    async [Symbol.asyncDispose]() {},
  }
}

/** A user of Google, who is new for each number. */
export async function googleWorld(sandbox: SandboxServer, nth: number): Promise<ContactWorld> {
  const email = `seed-${nth}@gmail.test`
  await configurePeople(sandbox, { quota: 'off' })
  await sandbox.addUser(email)
  return {
    other: peopleContacts(otherClient(sandbox, email)),
    async connect(caller) {
      const { refreshToken } = await sandbox.grant(email, [...OPENID, ...SCOPES, CONTACTS_SCOPE])
      const body = { provider: 'google', refreshToken, settings: { contactsEnabled: true } }
      return idOf(await caller.post<Account>('/v1/accounts', body))
    },
    async [Symbol.asyncDispose]() {},
  }
}

function idOf({ status, body }: Answer<Account>): string {
  if (status !== 200) throw new Error(`could not connect: ${JSON.stringify(body)}`)
  return body.id
}
