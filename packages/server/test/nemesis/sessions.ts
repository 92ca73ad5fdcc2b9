import { readdir, readFile, readlink } from 'node:fs/promises'
import type { FaultedConnection, FaultProxyOptions } from '../servers/fault-proxy.ts'
import type { History } from './history.ts'

/** The process that is the client of a connection; null if it is none of ours. */
export type FindProcess = (connection: FaultedConnection) => Promise<string | null>

interface Session {
  process: Promise<string | null>
  text: string
  user: string | null
  followsFrom: number | null
}

/** A line of IMAP that is longer has nothing for us. */
const LINE_LENGTH_MAX = 4_096

export interface SessionWatch extends FaultProxyOptions {
  /** The users whose accounts are followed now. */
  followed(): Set<string>
  /** Notes the sessions that are still open. */
  end(): Promise<void>
}

/** Notes which process follows which account: only followers wait in IDLE. */
export function watchSessions(findProcess: FindProcess, history: History): SessionWatch {
  const open = new Map<number, Session>()
  const close = async (session: Session) => {
    const { user, followsFrom } = session
    if (user === null || followsFrom === null) return
    const at = Date.now()
    const process = await session.process
    if (process !== null) history.add({ type: 'session', process, user, from: followsFrom, at })
  }
  return {
    onConnect(connection) {
      open.set(connection.number, {
        process: findProcess(connection),
        text: '',
        user: null,
        followsFrom: null,
      })
    },
    onClientBytes({ number }: FaultedConnection, bytes) {
      const session = open.get(number)
      if (!session || session.followsFrom !== null) return
      const lines = (session.text + bytes.toString('latin1')).split('\r\n')
      session.text = lines.pop()?.slice(-LINE_LENGTH_MAX) ?? ''
      for (const line of lines) {
        session.user ??= findUser(line)
        if (/^\S+ (IDLE$|NOTIFY SET )/i.test(line)) session.followsFrom = Date.now()
      }
    },
    onClientClosed({ number }) {
      const session = open.get(number)
      open.delete(number)
      if (session) void close(session)
    },
    followed: () =>
      new Set(
        [...open.values()].flatMap(({ user, followsFrom }) => (followsFrom === null ? [] : (user ?? []))),
      ),
    async end() {
      await Promise.all([...open.values()].map(close))
      open.clear()
    },
  }
}

/** The user of a line that logs in (RFC 9051 section 6.2), or of the answer to an empty challenge. */
function findUser(line: string): string | null {
  const plain = /^\S+ LOGIN "?([^" ]+)"? /i.exec(line)?.[1]
  if (plain !== undefined) return plain
  const encoded = /^(?:\S+ AUTHENTICATE PLAIN )?([A-Za-z0-9+/]{8,}=*)$/i.exec(line)?.[1]
  if (encoded === undefined) return null
  return Buffer.from(encoded, 'base64').toString().split('\0')[1] ?? null
}

const TCP_TABLE = '/proc/net/tcp'

/**
 * Finds which of some processes is the client of a connection on loopback (see proc(5)). Its port alone does not show
 * that: connections to different servers may come from the same one.
 */
export async function findClient(
  { clientPort, serverPort }: Omit<FaultedConnection, 'number'>,
  pids: readonly number[],
): Promise<number | null> {
  const [local, remote] = [clientPort, serverPort].map(
    port => `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`,
  )
  const rows = (await readFile(TCP_TABLE, 'utf8')).split('\n').map(row => row.trim().split(/\s+/))
  const inode = rows.find(row => row[1] === local && row[2] === remote)?.[9]
  if (inode === undefined) return null
  for (const pid of pids) {
    const files = await readdir(`/proc/${pid}/fd`).catch(() => [])
    const targets = await Promise.all(files.map(file => readlink(`/proc/${pid}/fd/${file}`).catch(() => '')))
    if (targets.includes(`socket:[${inode}]`)) return pid
  }
  return null
}

/** Files and connections that a process has open. */
export async function countOpenFiles(pid: number): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`).catch(() => [])).length
}
