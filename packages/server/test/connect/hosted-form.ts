import type { ConnectSession } from '@waxwing/contract/accounts/connect-sessions.ts'
import type { Answer } from '../caller.ts'
import type { TestAppOptions, TestTenant } from '../open-app.ts'

export const FORM_BACK = 'https://app.example.com/connected?tab=mail'

/** The API behind the form of a hosted session, as its page calls it. */
export interface HostedForm {
  id: string
  token: string
  /** Sends the form, by default from an address that no other form is sent from. */
  post(body: unknown, client?: string): Promise<Answer<Record<string, unknown>>>
  find(email: string): Promise<Answer<Record<string, unknown>>>
  read(): Promise<ConnectSession>
}

/** Lets clients name their own addresses, as a proxy would. */
export const behindProxy = (options: TestAppOptions = {}): TestAppOptions => ({
  ...options,
  config: { trustProxy: ['127.0.0.1'], ...options.config },
})

/** Number of client addresses that were given to forms. Logins count for an address in all tenants of a service. */
let clients = 0

/** Creates a hosted session. */
export async function openForm(app: TestTenant, body: Record<string, unknown> = {}): Promise<HostedForm> {
  await app.patch('/v1/settings', { redirectUris: [FORM_BACK] })
  const made = await app.post<{ id: string; url: string }>('/v1/connect-sessions', body)
  if (made.status !== 200) throw new Error(JSON.stringify(made.body))
  const { id, url } = made.body
  const token = url.slice(url.lastIndexOf('/') + 1)
  const path = `/v1/hosted/connect-sessions/${token}`
  const hosted = app.as(null)
  clients += 1
  const ownAddress = `198.18.${clients >> 8}.${clients & 255}`
  return {
    id,
    token,
    post: (form, client = ownAddress) =>
      hosted.post(`${path}/imap-accounts`, form, { 'x-forwarded-for': client }),
    find: email => hosted.get(`${path}/autoconfig?email=${encodeURIComponent(email)}`),
    read: async () => (await app.get<ConnectSession>(`/v1/connect-sessions/${id}`)).body,
  }
}
