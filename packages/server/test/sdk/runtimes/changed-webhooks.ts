import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const BODY = JSON.stringify({ id: '8231', type: 'message.created', data: { message: { subject: 'Größe' } } })
const PARTS = ['body', 'webhook-id', 'webhook-timestamp', 'webhook-signature'] as const

export interface ChangedWebhooks {
  secret: string
  changed: { body: string; headers: Record<string, string>; isGenuine: boolean }[]
}

/** Webhooks that were changed at random, each with the judgement of another program. */
export function changeWebhooks(number: number): ChangedWebhooks {
  const judge = new Webhook(SECRET)
  const now = new Date()
  const genuine = {
    body: BODY,
    'webhook-id': '8231',
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': judge.sign('8231', now, BODY),
  }
  const mutation = fc.record({
    part: fc.constantFrom(...PARTS),
    at: fc.nat(400),
    insert: fc.string({ maxLength: 3 }),
    removed: fc.nat(3),
  })
  const samples = fc.sample(fc.array(mutation, { maxLength: 2 }), number)
  const changed = samples.map(mutations => {
    const sent: Record<string, string> = { ...genuine }
    for (const { part, at, insert, removed } of mutations) {
      const text = sent[part] ?? ''
      const from = at % (text.length + 1)
      sent[part] = text.slice(0, from) + insert + text.slice(from + removed)
    }
    const { body = '', ...headers } = sent
    return { body, headers, isGenuine: isAccepted(judge, body, headers) }
  })
  return { secret: SECRET, changed }
}

function isAccepted(judge: Webhook, body: string, headers: Record<string, string>): boolean {
  // The other program reads a number out of any text. The service writes it in one way.
  if (!/^[1-9][0-9]*$/.test(headers['webhook-timestamp'] ?? '')) return false
  try {
    judge.verify(body, headers)
    return true
  } catch {
    return false
  }
}
