import { SCOPES } from '../packages/server/test/gmail/gmail-client.ts'
import type { DrivenSandbox } from '../packages/server/test/servers/sandbox.ts'
import { connectByToken } from './connect-by-token.ts'
import type { BenchService } from './service.ts'

const NO_QUOTA = '100000000'
const TOPIC = 'projects/bench/topics/gmail'
const SUBSCRIPTION = 'projects/bench/subscriptions/gmail'
const SIGNER = 'push@bench.iam.gserviceaccount.com'

/** Settings of a service whose Gmail the sandbox plays, without quotas. */
export function gmailSettings({ controlUrl }: Pick<DrivenSandbox, 'controlUrl'>): Record<string, string> {
  return {
    WAXWING_SANDBOX_URL: controlUrl,
    WAXWING_GOOGLE_CLIENT_ID: 'sandbox',
    WAXWING_GOOGLE_CLIENT_SECRET: 'sandbox-secret',
    WAXWING_GMAIL_UNITS_PER_MINUTE: NO_QUOTA,
    WAXWING_GMAIL_PROJECT_UNITS_PER_MINUTE: NO_QUOTA,
  }
}

/** Settings of a service to which Gmail pushes its notices. */
export const PUSH_SETTINGS = {
  WAXWING_GOOGLE_PUSH_TOPIC: TOPIC,
  WAXWING_GOOGLE_PUSH_SUBSCRIPTION: SUBSCRIPTION,
  WAXWING_GOOGLE_PUSH_SERVICE_ACCOUNT: SIGNER,
}

/** Lets the sandbox push notices to a service at this address. */
export async function pushTo(sandbox: DrivenSandbox, address: string): Promise<void> {
  const endpoint = new URL('/push/gmail', address).href
  const subscription = { topic: TOPIC, subscription: SUBSCRIPTION, endpoint, serviceAccount: SIGNER }
  await sandbox.configurePushes({ subscriptions: [subscription], intervalMilliseconds: 0 })
}

/** Connects a mailbox with its full history, without waiting for its mail. @returns the account's id */
export async function connectGmail(
  service: BenchService,
  sandbox: DrivenSandbox,
  email: string,
  bodyStorage: 'none' | 'full' = 'none',
): Promise<string> {
  const { refreshToken } = await sandbox.grant(email, [...SCOPES, 'openid', 'email', 'profile'])
  return connectByToken(service, { provider: 'google', refreshToken }, bodyStorage)
}
