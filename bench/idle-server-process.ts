/**
 * An IMAP server in a process of its own that costs next to nothing: everybody may log in and has the same empty
 * mailboxes, in which nothing ever happens. It answers what Dovecot answers, NOTIFY included.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const CAPABILITIES =
  'IMAP4rev1 LITERAL+ ENABLE IDLE NOTIFY NAMESPACE UNSELECT UIDPLUS MOVE CONDSTORE QRESYNC ESEARCH ' +
  'LIST-EXTENDED LIST-STATUS SPECIAL-USE'
const MAILBOXES = [
  'INBOX',
  'Drafts \\Drafts',
  'Sent \\Sent',
  'Junk \\Junk',
  'Trash \\Trash',
  'Archive \\Archive',
]
const STATUS = '(MESSAGES 0 UNSEEN 0 UIDNEXT 1 UIDVALIDITY 1700000000 HIGHESTMODSEQ 1)'
const LISTED = MAILBOXES.map(mailbox => {
  const [name, attribute = ''] = mailbox.split(' ')
  return `* LIST (${attribute}) "/" ${name}\r\n* STATUS ${name} ${STATUS}\r\n`
}).join('')
const OPENED =
  '* FLAGS (\\Seen)\r\n* OK [PERMANENTFLAGS (\\Seen \\*)] x\r\n* 0 EXISTS\r\n' +
  '* OK [UIDVALIDITY 1700000000] x\r\n* OK [UIDNEXT 1] x\r\n* OK [HIGHESTMODSEQ 1] x\r\n'

const ANSWERS: Readonly<Record<string, string>> = {
  CAPABILITY: `* CAPABILITY ${CAPABILITIES}\r\n`,
  ENABLE: '* ENABLED QRESYNC\r\n',
  NAMESPACE: '* NAMESPACE (("" "/")) NIL NIL\r\n',
  LIST: LISTED,
  EXAMINE: OPENED,
  SELECT: OPENED,
  'UID SEARCH': '* ESEARCH (TAG "") UID\r\n',
}

/** @returns its port, on every address of the loopback network */
export async function startIdleServer(): Promise<AsyncDisposable & { port: number }> {
  const program = fileURLToPath(import.meta.url)
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return {
    port: Number(line),
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.stdin.end()
      await ended
    },
  }
}

function converse(socket: Socket): void {
  let rest = ''
  let idleTag = ''
  socket.on('error', () => socket.destroy())
  socket.write(`* OK [CAPABILITY ${CAPABILITIES}] ready\r\n`)
  socket.on('data', chunk => {
    const lines = (rest + chunk.toString('latin1')).split('\r\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const [, tag = '', command = ''] = /^(\S+) ?((?:UID )?\S*)/i.exec(line) ?? []
      const name = command.toUpperCase()
      if (line === 'DONE') socket.write(`${idleTag} OK done\r\n`)
      else if (name === 'IDLE') {
        idleTag = tag
        socket.write('+ idling\r\n')
      } else if (name === 'LOGOUT') socket.end(`* BYE\r\n${tag} OK done\r\n`)
      else if (name === 'LOGIN' || name === 'AUTHENTICATE')
        socket.write(`${tag} OK [CAPABILITY ${CAPABILITIES}] done\r\n`)
      else socket.write(`${ANSWERS[name] ?? ''}${tag} OK done\r\n`)
    }
  })
}

/** Runs until the process that started it ends. */
async function serve(): Promise<never> {
  const server = createServer({ noDelay: true }, converse)
  server.listen({ port: 0, host: '0.0.0.0', backlog: 4096 })
  await once(server, 'listening')
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
  process.stdin.resume()
  await once(process.stdin, 'end')
  process.exit(0)
}

if (import.meta.main) await serve()
