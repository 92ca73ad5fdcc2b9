import { access, readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { startDaemon } from './daemon.ts'
import { requireHaproxy } from './install.ts'
import { waitUntil } from '../wait-until.ts'

const CONFIG = fileURLToPath(new URL('../../../../deploy/haproxy.cfg', import.meta.url))

/** A load balancer in front of processes that may stop and start. */
export interface Haproxy extends AsyncDisposable {
  address: string
  /** The ports of the processes that it sends requests to. */
  findUp(): Promise<number[]>
}

/** Starts HAProxy with the configuration of deploy/, in front of these ports. */
export async function startHaproxy(ports: readonly number[]): Promise<Haproxy> {
  const executable = requireHaproxy()
  const sample = await readFile(CONFIG, 'utf8')
  const daemon = await startDaemon({
    name: 'haproxy',
    portCount: 1,
    isSilent: true,
    async prepare(folder, [port = 0]) {
      const file = join(folder, 'haproxy.cfg')
      await writeFile(file, configFor(sample, { port, socket: join(folder, 'stats'), ports }))
      const log = join(folder, 'haproxy.log')
      // Its first words, such as about a port that is taken, go to its output.
      const args = ['-c', 'exec "$0" -db -f "$1" > "$2" 2>&1', executable, file, log]
      return { command: '/bin/sh', args, log }
    },
  })
  const path = join(daemon.folder, 'stats')
  // It listens on its port a moment earlier.
  await waitUntil('the socket of the statistics', () =>
    access(path).then(
      () => true,
      () => false,
    ),
  )
  return {
    address: `http://127.0.0.1:${daemon.ports[0]}`,
    async findUp() {
      const socket = connect(path)
      socket.end('show stat\n')
      return readUp(await text(socket))
    },
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  }
}

function configFor(sample: string, to: { port: number; socket: string; ports: readonly number[] }): string {
  const servers = to.ports.map(port => `  server ${port} 127.0.0.1:${port}\n`).join('')
  return sample
    .replace(/^global$/m, `global\n  stats socket ${to.socket}`)
    .replace('bind :8080', `bind 127.0.0.1:${to.port}`)
    .replace(/(?: {2}server .*\n)+/, servers)
}

/** Reads the CSV of `show stat`, whose first line names the columns. */
function readUp(csv: string): number[] {
  const [names = '', ...lines] = csv.split('\n')
  const columns = names.replace('# ', '').split(',')
  const rows = lines.map(line => line.split(','))
  const is = (row: string[], column: string) => row[columns.indexOf(column)] ?? ''
  return rows
    .filter(row => /^\d+$/.test(is(row, 'svname')) && is(row, 'status').startsWith('UP'))
    .map(row => Number(is(row, 'svname')))
}
