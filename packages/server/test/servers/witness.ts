import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { splitImapStream } from './imap-stream.ts'
import { type ImapValue, parseImapAnswer, quote } from './imap-values.ts'
import type { MailServer, TestUser } from './mail-server.ts'

const COMMAND_SECONDS_MAX = 120

export interface Reply {
  /** The text after OK, with its response code. */
  text: string
  untagged: ImapValue[][]
}

/** A command was answered by NO or BAD, or the server ended the session by BYE. */
export class RefusedCommand extends Error {}

/**
 * A small IMAP client that shares no code with the service, so that it is an independent witness of a server. One
 * command at a time. A command is text with literals between: `['APPEND INBOX ', bytes]`.
 */
export interface Witness extends AsyncDisposable {
  command(...parts: Array<string | Buffer>): Promise<Reply>
  /** Every untagged answer, as it arrives. */
  onUntagged: ((values: ImapValue[]) => void) | null
}

export async function openWitness(
  server: Pick<MailServer, 'host' | 'directPort'>,
  { user, password }: Pick<TestUser, 'user' | 'password'>,
): Promise<Witness> {
  const socket = connect(server.directPort, server.host)
  socket.setNoDelay()
  await once(socket, 'connect')
  const session = openSession(socket)
  try {
    await session.command(`LOGIN ${quote(user)} ${quote(password)}`)
  } catch (error) {
    socket.destroy()
    throw error
  }
  return session
}

interface Waiting {
  tag: string
  untagged: ImapValue[][]
  resolve(reply: Reply): void
  reject(error: Error): void
}

function openSession(socket: Socket): Witness {
  let waiting: Waiting | null = null
  let tagNumber = 0
  let failure: Error | null = null
  const fail = (error: Error) => {
    failure ??= error
    waiting?.reject(failure)
    waiting = null
  }

  const session: Witness = {
    onUntagged: null,
    async command(...parts) {
      if (failure) throw failure
      const tag = `w${++tagNumber}`
      const answered = new Promise<Reply>((resolve, reject) => {
        waiting = { tag, untagged: [], resolve, reject }
      })
      const timer = setTimeout(
        () => fail(new Error(`no answer to ${String(parts[0])}`)),
        COMMAND_SECONDS_MAX * 1000,
      )
      try {
        await Promise.all([answered, send(socket, tag, parts)])
        return await answered
      } finally {
        clearTimeout(timer)
      }
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise(resolve => socket.once('close', resolve))
      if (socket.closed) return
      socket.end('bye LOGOUT\r\n')
      socket.destroySoon()
      await closed
    },
  }

  const answer = (pieces: string[], literals: Buffer[]) => {
    const [head = ''] = pieces
    const status = waiting && head.startsWith(`${waiting.tag} `) ? head.slice(waiting.tag.length + 1) : null
    if (waiting && status !== null) {
      const { resolve, reject, untagged } = waiting
      waiting = null
      if (/^OK/i.test(status)) resolve({ text: status.slice(3), untagged })
      else reject(new RefusedCommand(status))
    } else if (head.startsWith('* ')) {
      const values = parseImapAnswer(pieces, literals).slice(1)
      // A mailbox that others rename or delete ends the sessions in it.
      if (/^\* BYE/i.test(head)) fail(new RefusedCommand(head.slice(2)))
      waiting?.untagged.push(values)
      session.onUntagged?.(values)
    }
  }

  const answers = collectAnswers(answer)
  socket.on('data', chunk => answers.push(chunk))
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the server closed the connection')))
  return session
}

function collectAnswers(answer: (pieces: string[], literals: Buffer[]) => void) {
  let pieces: string[] = []
  let literals: Buffer[] = []
  let literal: Buffer[] = []
  const flush = () => {
    if (pieces.length > literals.length) literals.push(Buffer.concat(literal))
    literal = []
  }
  return splitImapStream({
    line(line) {
      if (pieces.length > 0) flush()
      const text = line.toString('latin1')
      pieces.push(text)
      if (/\{\d+\}$/.test(text)) return
      answer(pieces, literals)
      pieces = []
      literals = []
    },
    literal: piece => literal.push(piece),
  })
}

/** Literals go without waiting (LITERAL+, RFC 7888), which all servers here have. */
async function send(socket: Socket, tag: string, parts: ReadonlyArray<string | Buffer>) {
  socket.cork()
  socket.write(`${tag} `)
  for (const part of parts) {
    if (typeof part === 'string') {
      socket.write(part)
      continue
    }
    socket.write(`{${part.length}+}\r\n`)
    if (socket.write(part)) continue
    socket.uncork()
    await once(socket, 'drain')
    socket.cork()
  }
  socket.write('\r\n')
  socket.uncork()
}
