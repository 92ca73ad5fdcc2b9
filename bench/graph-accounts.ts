import { type GraphClient, openGraphClient } from '../packages/server/test/graph/graph-client.ts'
import type { DrivenSandbox } from '../packages/server/test/servers/sandbox.ts'
import { connectByToken } from './connect-by-token.ts'
import { type SandboxProcess, startSandboxProcess } from './sandbox-process.ts'
import type { BenchService } from './service.ts'

export const GRAPH_HOST = 'graph.microsoft.com'
const MAIL = ['Mail.ReadWrite', 'Mail.Send', 'User.Read']
/** The permissions of the service in a mailbox with calendars. */
export const WITH_CALENDARS = [...MAIL, 'Calendars.ReadWrite', 'MailboxSettings.Read']
const AT_MICROSOFT = { provider: 'microsoft', cloud: 'global' }
const CLIENT = 'sandbox'

/** Settings of a service whose Microsoft the sandbox plays. */
export function graphSettings(controlUrl: string): Record<string, string> {
  return {
    WAXWING_SANDBOX_URL: controlUrl,
    WAXWING_MICROSOFT_CLIENT_ID: CLIENT,
    WAXWING_MICROSOFT_CLIENT_SECRET: 'sandbox-secret',
  }
}

/** Adds a mailbox of the sandbox. @returns another client of it */
export async function addMailbox(
  sandbox: DrivenSandbox,
  email: string,
  messages: number,
): Promise<GraphClient> {
  await sandbox.addUser(email, { messages, ...AT_MICROSOFT })
  return openGraphClient(sandbox, email)
}

/** Starts a sandbox whose Graph limits no calls, with a mailbox. */
export async function startOffice(
  email: string,
  messages: number,
): Promise<SandboxProcess & { client: GraphClient }> {
  await using opened = new AsyncDisposableStack()
  const sandbox = opened.use(await startSandboxProcess())
  await sandbox.control('PATCH', '/graph', { limits: 'off' })
  const client = await addMailbox(sandbox, email, messages)
  opened.move()
  return { ...sandbox, client }
}

/** The tokens of the service's app for a mailbox. */
export const grantGraph = (sandbox: DrivenSandbox, email: string, permissions = MAIL) =>
  sandbox.grant(email, scopesOf(permissions), CLIENT, AT_MICROSOFT)

const scopesOf = (permissions: readonly string[]) =>
  permissions.map(permission => `https://${GRAPH_HOST}/${permission}`)

/** Connects a mailbox with its full history, without waiting for its mail. @returns the account's id */
export async function connectGraph(
  service: BenchService,
  sandbox: DrivenSandbox,
  email: string,
  permissions = MAIL,
): Promise<string> {
  const { refreshToken } = await sandbox.grant(
    email,
    [...scopesOf(permissions), 'openid', 'email', 'profile', 'offline_access'],
    CLIENT,
    AT_MICROSOFT,
  )
  return connectByToken(service, { provider: 'microsoft', refreshToken })
}
