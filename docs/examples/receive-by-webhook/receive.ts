import { createServer } from 'node:http'
import { isEvent, verifyWebhook, WebhookVerificationError } from '@waxwing/sdk/webhooks'

const secret = process.env.WEBHOOK_SECRET ?? ''
// A program that is more than an example keeps the ids in its database, with the work that they cause.
const handled = new Set<string>()
const BODY_BYTES_MAX = 10_000_000

const server = createServer(async (request, response) => {
  try {
    // Anyone can send a body, so its size is checked before it is read.
    if (!(Number(request.headers['content-length']) <= BODY_BYTES_MAX)) {
      response.writeHead(413).end()
      return
    }
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const event = await verifyWebhook(Buffer.concat(chunks), request.headers, secret)
    if (isEvent(event, 'message.created') && !handled.has(event.id)) {
      handled.add(event.id)
      console.log(`${event.data.message.from?.address}: ${event.data.message.subject}`)
    }
    response.writeHead(204).end()
  } catch (error) {
    response.writeHead(error instanceof WebhookVerificationError ? 401 : 500).end()
  }
})
server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('Waiting for mail'))
