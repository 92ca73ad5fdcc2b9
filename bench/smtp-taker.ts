import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/** A message that was accepted, with the times of `Date.now()`. */
export interface TakenMessage {
  messageId: string
  /** When its MAIL arrived. */
  askedAt: number
  takenAt: number
}

const CONTENT_END = Buffer.from('\r\n.\r\n')
const MESSAGE_ID = /^Message-ID:\s*(<[^>]+>)/im
const HELLO = '250-taker.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SIZE 36700160\r\n'

/**
 * An SMTP server on loopback that does almost nothing, since it shares the processors with what is measured: nobody
 * logs in, and each message is accepted and dropped.
 */
export async function startSmtpTaker() {
  const taken: TakenMessage[] = []
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    converse(socket, message => taken.push(message))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    // Just bound to a TCP port, so it has one.
    port: (server.address() as AddressInfo).port,
    taken,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

function converse(socket: Socket, onTaken: (message: TakenMessage) => void) {
  let rest: Buffer = Buffer.alloc(0)
  let isContent = false
  let askedAt = 0
  socket.write('220 taker.test\r\n')
  socket.on('data', (chunk: Buffer) => {
    rest = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    for (;;) {
      const end = isContent ? rest.indexOf(CONTENT_END) : rest.indexOf('\r\n')
      if (end < 0) return
      const text = rest.toString('latin1', 0, end)
      rest = rest.subarray(end + (isContent ? CONTENT_END.length : 2))
      if (isContent) {
        isContent = false
        onTaken({ messageId: MESSAGE_ID.exec(text)?.[1] ?? '', askedAt, takenAt: Date.now() })
        socket.write('250 2.0.0 taken\r\n')
        continue
      }
      const word = text.slice(0, 4).toUpperCase()
      if (word === 'MAIL') askedAt = Date.now()
      isContent = word === 'DATA'
      socket.write(isContent ? '354 go on\r\n' : word === 'EHLO' ? HELLO : '250 2.0.0 fine\r\n')
      if (word === 'QUIT') return void socket.end()
    }
  })
}
