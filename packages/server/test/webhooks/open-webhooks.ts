import type { WebhookEndpoint } from '@waxwing/contract/notifications/webhooks.ts'
import type { Resolver } from '../../src/kit/egress/guard.ts'
import { type Answer, type Caller } from '../caller.ts'
import { openTestApp, type TestApp, type TestAppOptions } from '../open-app.ts'

export const PUBLIC_ADDRESS = '93.184.215.14'
/** Has a public address. */
export const HOOK = 'https://hooks.example.com/waxwing'

/** Names below example.com are public, `internal.test` is not, and there are no others. */
export const resolveNames: Resolver = async name => {
  if (name.endsWith('.example.com')) return [PUBLIC_ADDRESS]
  if (name === 'internal.test') return ['10.0.0.7']
  if (name === 'mixed.test') return [PUBLIC_ADDRESS, '127.0.0.1']
  throw Object.assign(new Error(`no ${name}`), { code: 'ENOTFOUND' })
}

export function openWebhookApp(options: TestAppOptions = {}): Promise<TestApp> {
  return openTestApp({ resolve: resolveNames, ...options })
}

export interface Created {
  endpoint: WebhookEndpoint
  secret: string
}

export async function createEndpoint(
  caller: Pick<Caller, 'post'>,
  body: Record<string, unknown> = {},
): Promise<Created> {
  const answer: Answer<Created> = await caller.post<Created>('/v1/webhooks', { url: HOOK, ...body })
  if (answer.status !== 200) throw new Error(`The endpoint was refused: ${JSON.stringify(answer.body)}`)
  return answer.body
}
