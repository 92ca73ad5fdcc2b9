import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Validate } from '../published-types.ts'
import type { Answers } from './answers.ts'
import { IMMUTABLE } from './client.ts'
import { EVA, FINN, mimeOf, TEXT, to, useOffice } from './use-office.ts'
import { openGraphValidation } from './validation.ts'

const office = useOffice()
const validate: Validate<Answers> = openGraphValidation()

/** Answers each validation. */
const endpoint = createServer((request, response) => {
  const token = new URL(request.url ?? '', 'http://localhost').searchParams.get('validationToken')
  response.writeHead(200, { 'content-type': 'text/plain' }).end(token ?? '')
})
beforeAll(() => new Promise<void>(resolve => void endpoint.listen(0, '127.0.0.1', resolve)))
afterAll(async () => {
  endpoint.closeAllConnections()
  await new Promise(resolve => void endpoint.close(resolve))
})

/** Posts, and checks the answer, which made something. */
async function made<Name extends keyof Answers>(
  type: Name,
  path: string,
  body: unknown,
  headers: Record<string, string> = IMMUTABLE,
) {
  const { status, data } = await office.ask(EVA, 'POST', path, body, headers)
  expect([status, data.error], path).toEqual([201, undefined])
  validate(type, data)
  return data
}

test("answers writes in Microsoft's own types", async () => {
  const json = await made('message', 'messages', {
    subject: 'JSON',
    toRecipients: [to(FINN)],
    flag: { flagStatus: 'flagged' },
    body: { contentType: 'html', content: '<p>Hi</p>' },
  })
  const { id } = await made('message', 'messages', mimeOf({ To: FINN, Subject: 'MIME' }), TEXT)
  await made('message', `messages/${id}/copy`, { destinationId: 'archive' })
  await made('message', `messages/${json.id}/move`, { destinationId: 'archive' })
  for (const name of ['createReply', 'createReplyAll', 'createForward'])
    await made('message', `messages/${json.id}/${name}`, { comment: 'Yes' })
  const patched = await office.ask(EVA, 'PATCH', `messages/${id}`, { categories: ['A'] }, IMMUTABLE)
  expect(patched.status).toBe(200)
  validate('message', patched.data)

  const attachments = `messages/${id}/attachments`
  const type = (name: string) => `#microsoft.graph.${name}`
  const file = { '@odata.type': type('fileAttachment'), name: 'a.bin', contentBytes: 'AAEC' }
  await made('fileAttachment', attachments, file)
  const item = { '@odata.type': type('message'), subject: 'Inner', toRecipients: [to(FINN)] }
  const { id: itemId } = await made('itemAttachment', attachments, {
    '@odata.type': type('itemAttachment'),
    name: 'Inner',
    item,
  })
  const expanded = `${attachments}/${itemId}?$expand=microsoft.graph.itemAttachment/item`
  const { data } = await office.ask(EVA, 'GET', expanded)
  expect(data.item.subject).toBe('Inner')
  validate('message', data.item)
  await made('referenceAttachment', attachments, {
    '@odata.type': type('referenceAttachment'),
    name: 'Link',
    sourceUrl: 'https://far.test/file',
  })
  const large = { attachmentType: 'file', name: 'b.bin', size: 4_000_000 }
  await made('uploadSession', `${attachments}/createUploadSession`, { AttachmentItem: large })
})

test("answers subscriptions in Microsoft's own type", async () => {
  const address = endpoint.address()
  const port = typeof address === 'object' ? address?.port : 0
  const subscription = await made('subscription', '/v1.0/subscriptions', {
    changeType: 'created',
    notificationUrl: `http://127.0.0.1:${port}/notices`,
    resource: 'me/messages',
    expirationDateTime: new Date(office.sandbox.world.clock.now() + 3_600_000).toISOString(),
  })
  const { data } = await office.ask(EVA, 'GET', `/v1.0/subscriptions/${subscription.id}`)
  validate('subscription', data)
})
