import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { isEvent, signWebhook, verifyWebhook, WebhookVerificationError } from '../src/webhooks.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const OTHER = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
const BODY = JSON.stringify({ id: '8231', type: 'message.created', data: { message: { subject: 'Größe' } } })

describe('a webhook', () => {
  test('is verified as text and as bytes, and gives its event', async () => {
    const headers = await signWebhook({ id: '8231', body: BODY }, SECRET)
    for (const body of [BODY, new TextEncoder().encode(BODY), Buffer.from(BODY)]) {
      const event = await verifyWebhook(body, headers, SECRET)
      if (!isEvent(event, 'message.created')) throw new Error('another type')
      expect(event.data.message.subject).toBe('Größe')
    }
    expect(new Webhook(SECRET).verify(BODY, headers)).toEqual(JSON.parse(BODY))
  })

  test('has headers of fetch, of Node.js, and in any case', async () => {
    const headers = await signWebhook({ id: '8231', body: BODY }, SECRET)
    const capitals = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]),
    )
    for (const each of [new Headers(headers), headers, capitals])
      expect(await verifyWebhook(BODY, each, SECRET)).toMatchObject({ id: '8231' })
  })

  test('is verified by either secret during a rotation', async () => {
    const both = await signWebhook({ id: '1', body: BODY }, [OTHER, SECRET])
    expect(await verifyWebhook(BODY, both, SECRET)).toMatchObject({ id: '8231' })
    const one = await signWebhook({ id: '1', body: BODY }, OTHER)
    expect(await verifyWebhook(BODY, one, [SECRET, OTHER])).toMatchObject({ id: '8231' })
    await expect(verifyWebhook(BODY, one, SECRET)).rejects.toThrow(WebhookVerificationError)
  })

  test('with a type that is not known is passed on', async () => {
    const body = '{"id":"1","type":"moon.risen","data":{"phase":"full"}}'
    const event = await verifyWebhook(body, await signWebhook({ id: '1', body }, SECRET), SECRET)
    expect(event).toMatchObject({ type: 'moon.risen', data: { phase: 'full' } })
  })

  test('of an account that was purged has no data to read', async () => {
    const body = '{"id":"1","type":"message.created","data":{}}'
    const event = await verifyWebhook(body, await signWebhook({ id: '1', body }, SECRET), SECRET)
    expect(isEvent(event, 'message.created')).toBe(false)
  })

  test.each([-301, 301])('that was signed %d seconds from now is refused', async seconds => {
    const timestamp = new Date(Date.now() + seconds * 1000)
    const headers = await signWebhook({ id: '1', body: BODY, timestamp }, SECRET)
    await expect(verifyWebhook(BODY, headers, SECRET)).rejects.toThrow('too far from now')
    await verifyWebhook(BODY, headers, SECRET, { toleranceSeconds: 400 })
    await expect(verifyWebhook(BODY, headers, SECRET, { toleranceSeconds: Number.NaN })).rejects.toThrow()
  })

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
    'without, or with two of, %s is refused',
    async name => {
      const headers = await signWebhook({ id: '1', body: BODY }, SECRET)
      const value = headers[name as 'webhook-id']
      for (const odd of [undefined, '', [value, value]])
        await expect(verifyWebhook(BODY, { ...headers, [name]: odd }, SECRET)).rejects.toThrow(
          WebhookVerificationError,
        )
    },
  )

  test('that is empty, large or no JSON has an answer', async () => {
    for (const body of ['', '{"id":', `"${'x'.repeat(10_000_000)}"`]) {
      const headers = await signWebhook({ id: '1', body }, SECRET)
      const verified = verifyWebhook(body, headers, SECRET)
      if (body.length > 100) await verified
      else await expect(verified).rejects.toThrow('the body is no JSON')
    }
  })

  test('that was parsed, or a secret that is none, is a mistake of the program', async () => {
    const headers = await signWebhook({ id: '1', body: BODY }, SECRET)
    await expect(verifyWebhook(JSON.parse(BODY), headers, SECRET)).rejects.toThrow(
      'before anything has parsed it',
    )
    for (const secret of ['', 'whsec_', 'whsec_ü', undefined as unknown as string])
      await expect(verifyWebhook(BODY, headers, secret)).rejects.toThrow(TypeError)
    await expect(verifyWebhook(BODY, headers, [])).rejects.toThrow(TypeError)
  })
})

test('a changed webhook is accepted exactly where another program accepts it', async () => {
  const judge = new Webhook(SECRET)
  const headers = await signWebhook({ id: '8231', body: BODY }, SECRET)
  const parts = { body: BODY, ...headers }
  const mutation = fc.record({
    part: fc.constantFrom('body', 'webhook-id', 'webhook-timestamp', 'webhook-signature'),
    at: fc.nat(400),
    insert: fc.string({ maxLength: 3 }),
    removed: fc.nat(3),
  })
  const changed = fc.array(mutation, { maxLength: 2 })
  await fc.assert(
    fc.asyncProperty(changed, async mutations => {
      const sent: Record<string, string> = { ...parts }
      for (const { part, at, insert, removed } of mutations) {
        const text = sent[part] ?? ''
        const from = at % (text.length + 1)
        sent[part] = text.slice(0, from) + insert + text.slice(from + removed)
      }
      const { body = '', ...given } = sent
      const isAccepted = await verifyWebhook(body, given, SECRET).then(
        () => true,
        () => false,
      )
      let isExpected = true
      try {
        judge.verify(body, given)
      } catch {
        isExpected = false
      }
      // The other program reads a number out of any text. The service writes it in one way.
      const isPlain = /^[1-9][0-9]*$/.test(given['webhook-timestamp'] ?? '')
      expect(isAccepted).toBe(isExpected && isPlain)
    }),
    { numRuns: Number(process.env['WAXWING_TEST_MUTATIONS'] ?? 500) },
  )
})
