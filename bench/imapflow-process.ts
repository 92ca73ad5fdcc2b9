/** The yardstick in a separate process: imapflow alone, with its task as JSON on the command line. */
import { ImapFlow } from 'imapflow'
import { answerTask, runTask } from './child-task.ts'
import { readCpuSeconds, readMemory } from './process-stats.ts'

interface Login {
  host: string
  port: number
  user: string
  password: string
}

/** The part of each message that is fetched: what a list shows and every header, or the whole message. */
type Wanted = 'headers' | 'source'

type Task =
  | { type: 'fetch'; login: Login; wanted: Wanted }
  | { type: 'idle'; logins: Login[]; warmUp: number; settleSeconds: number; seconds: number }

export interface FetchFigures {
  messages: number
  seconds: number
  peakMb: number
}

export interface IdleFigures {
  /** Memory per connection, without the first `warmUp` of them and what they load. */
  kbEach: number
  cpuShare: number
}

export const runFetch = (login: Login, wanted: Wanted = 'headers') =>
  runTask<FetchFigures>(import.meta.url, { type: 'fetch', login, wanted })
export const runIdle = (task: Omit<Task & { type: 'idle' }, 'type'>) =>
  runTask<IdleFigures>(import.meta.url, { type: 'idle', ...task })

function open({ host, port, user, password }: Login) {
  return new ImapFlow({ host, port, secure: false, auth: { user, pass: password }, logger: false })
}

/** Fetches over one connection the attributes of a list and what is wanted, and drops each message at once. */
async function fetchAll({ login, wanted }: Task & { type: 'fetch' }): Promise<FetchFigures> {
  const start = performance.now()
  const client = open(login)
  await client.connect()
  await client.mailboxOpen('INBOX')
  let messages = 0
  const attributes = {
    uid: true,
    flags: true,
    envelope: true,
    bodyStructure: true,
    internalDate: true,
    size: true,
  }
  for await (const _ of client.fetch('1:*', { ...attributes, [wanted]: true })) messages++
  const seconds = (performance.now() - start) / 1000
  await client.logout()
  return { messages, seconds, peakMb: readMemory(process.pid).peakMb }
}

async function idle({
  logins,
  warmUp,
  settleSeconds,
  seconds,
}: Task & { type: 'idle' }): Promise<IdleFigures> {
  const connect = async (login: Login) => {
    const client = open(login)
    await client.connect()
    await client.mailboxOpen('INBOX')
    void client.idle()
  }
  for (const login of logins.slice(0, warmUp)) await connect(login)
  await wait(settleSeconds)
  const warmMb = readMemory(process.pid).nowMb
  for (const login of logins.slice(warmUp)) await connect(login)
  await wait(settleSeconds)
  const before = readCpuSeconds(process.pid)
  await wait(seconds)
  const cpuShare = (readCpuSeconds(process.pid) - before) / seconds
  return { kbEach: ((readMemory(process.pid).nowMb - warmMb) * 1024) / (logins.length - warmUp), cpuShare }
}

export function wait(seconds: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, seconds * 1000))
}

if (import.meta.main)
  await answerTask((task: Task): Promise<FetchFigures | IdleFigures> =>
    task.type === 'fetch' ? fetchAll(task) : idle(task),
  )
