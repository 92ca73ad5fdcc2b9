import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { afterSending } from './after-sending.ts'

describe('afterSending', () => {
  const SIZE = 64 * 1024 * 1024

  /** Opens a server whose answer is larger than the buffers of the system, so that it waits for a client that reads. */
  async function openSlowAnswer() {
    let isSent = false
    const made = Promise.withResolvers<void>()
    const server = createServer((_, outgoing) => {
      outgoing.end(Buffer.alloc(SIZE))
      afterSending(outgoing, () => (isSent = true))
      made.resolve()
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    // A server that listens on a TCP port has an AddressInfo.
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await made.promise
    const close = () => server.close().closeAllConnections()
    return { socket, isSent: () => isSent, [Symbol.dispose]: close }
  }

  test('waits until the client has taken the last byte', async () => {
    using slow = await openSlowAnswer()
    expect(slow.isSent()).toBe(false)
    slow.socket.resume()
    await expect.poll(slow.isSent, { timeout: 60_000 }).toBe(true)
  })

  test('stops waiting when the connection is gone', async () => {
    using slow = await openSlowAnswer()
    expect(slow.isSent()).toBe(false)
    slow.socket.destroy()
    await expect.poll(slow.isSent, { timeout: 60_000 }).toBe(true)
  })
})
