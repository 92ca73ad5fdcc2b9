/** A program: a receiver of webhooks that answers 204 and says at `/count` how many came. Prints its port. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

let count = 0
const server = createServer((request, response) => {
  if (request.url === '/count') return response.end(String(count))
  request.resume().once('end', () => {
    count++
    response.writeHead(204).end()
  })
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
