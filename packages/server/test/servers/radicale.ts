import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { logging, startDaemon } from './daemon.ts'
import type { DavTestServer } from './dav-test-server.ts'
import { requireProgram } from './install.ts'
import { makeUpName } from './mail-server.ts'

/** Starts a new Radicale on a free loopback port. It stores cards in a form of its own. */
export async function startRadicale(): Promise<DavTestServer> {
  const command = requireProgram('radicale')
  const daemon = await startDaemon({
    name: 'radicale',
    portCount: 1,
    isSilent: true,
    async prepare(folder, [port = 0]) {
      await writeFile(join(folder, 'users'), '')
      const config = join(folder, 'config')
      await writeFile(config, configOf(folder, port))
      return logging(join(folder, 'radicale.log'), command, ['--config', config])
    },
  })
  return {
    kind: 'radicale',
    url: new URL(`http://127.0.0.1:${daemon.ports[0]}/`),
    async addUser() {
      const name = makeUpName()
      const user = { user: name, password: `secret of ${name}`, email: `${name}@dav.test` }
      await appendFile(join(daemon.folder, 'users'), `${name}:${user.password}\n`)
      return { ...user, homePath: `/${name}/`, calendarHomePath: `/${name}/` }
    },
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  }
}

function configOf(folder: string, port: number): string {
  return `[server]
hosts = 127.0.0.1:${port}
max_connections = 50
[auth]
type = htpasswd
htpasswd_filename = ${folder}/users
htpasswd_encryption = plain
delay = 0
[storage]
filesystem_folder = ${folder}/collections
[rights]
type = owner_only
`
}
