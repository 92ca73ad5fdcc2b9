import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { flood } from './flood.ts'

/** One command of a client, and ways to answer it. */
export interface Asked {
  /** Without its tag: `EXAMINE "INBOX"`. */
  command: string
  tag: string
  /** The connection that it came over. */
  socket: Socket
  /** Each with CRLF. */
  say(...lines: string[]): void
  /** Sends the same text for as long as the client reads. */
  flood(text: string): void
}

export interface HostileImap extends AsyncDisposable {
  host: string
  port: number
  readonly openConnections: number
  commands: string[]
}

/**
 * An IMAP server for one empty inbox that lets anybody in.
 * @param misbehave what it does in place of its honest answer; false: nothing
 */
export async function startHostileImap(misbehave: (asked: Asked) => boolean): Promise<HostileImap> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    let rest = ''
    let idleTag = ''
    const say = (...lines: string[]) => void socket.write(lines.map(line => `${line}\r\n`).join(''), 'latin1')
    const floodWith = (text: string) => flood(socket, text)
    if (!misbehave({ command: 'GREETING', tag: '*', socket, say, flood: floodWith }))
      say('* OK [CAPABILITY IMAP4rev1 IDLE LITERAL+] ready')
    socket.on('data', chunk => {
      const lines = (rest + chunk.toString('latin1')).split('\r\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const [tag = '', ...words] = line.split(' ')
        const command = words.join(' ')
        if (line === 'DONE') say(`${idleTag} OK done`)
        else {
          hostile.commands.push(command)
          const asked = { command, tag, socket, say, flood: floodWith }
          if (command === 'IDLE') idleTag = tag
          if (!misbehave(asked)) answer(asked)
        }
      }
    })
  })
  const hostile: HostileImap = {
    host: '127.0.0.1',
    port: 0,
    get openConnections() {
      return sockets.size
    },
    commands: [],
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  hostile.port = (server.address() as AddressInfo).port
  return hostile
}

function answer({ command, tag, say }: Asked): void {
  const [name = ''] = command.split(' ')
  if (name === 'IDLE') return say('+ idling')
  if (name === 'CAPABILITY') say('* CAPABILITY IMAP4rev1 IDLE LITERAL+')
  if (name === 'LIST') say('* LIST () "/" INBOX')
  if (name === 'STATUS') say('* STATUS INBOX (MESSAGES 0 UNSEEN 0 UIDNEXT 1 UIDVALIDITY 1)')
  if (name === 'EXAMINE') say('* 0 EXISTS', '* OK [UIDVALIDITY 1] x', '* OK [UIDNEXT 1] x')
  say(`${tag} OK done`)
}
