import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { logging, startDaemon } from './daemon.ts'
import type { DavTestServer } from './dav-test-server.ts'
import { requireProgram } from './install.ts'
import { makeUpName } from './mail-server.ts'

const GIT = {
  GIT_AUTHOR_NAME: 'tests',
  GIT_AUTHOR_EMAIL: 'tests@dav.test',
  GIT_COMMITTER_NAME: 'tests',
  GIT_COMMITTER_EMAIL: 'tests@dav.test',
}

const PRINCIPAL = '/somebody/'

/**
 * Starts a Xandikos of its own on a free loopback port. It keeps cards byte for byte, and takes any password. It has one
 * principal, so a user here is a folder with collections.
 * @param isForOne whether its only user is the principal, whose address books can be discovered
 */
export async function startXandikos({ isForOne = false } = {}): Promise<DavTestServer> {
  const command = requireProgram('xandikos')
  const daemon = await startDaemon({
    name: 'xandikos',
    portCount: 1,
    isSilent: true,
    async prepare(folder, [port = 0]) {
      const data = join(folder, 'data')
      await mkdir(data)
      const args = ['--defaults', '-d', data, '-l', '127.0.0.1', '-p', String(port)]
      args.push('--current-user-principal', PRINCIPAL)
      return { ...logging(join(folder, 'xandikos.log'), command, args), env: GIT }
    },
  })
  return {
    kind: 'xandikos',
    url: new URL(`http://127.0.0.1:${daemon.ports[0]}/`),
    async addUser() {
      const name = makeUpName()
      const homePath = isForOne ? `${PRINCIPAL}contacts/` : `/${name}/contacts/`
      const calendarHomePath = isForOne ? `${PRINCIPAL}calendars/` : `/${name}/calendars/`
      for (const path of [homePath, calendarHomePath])
        await mkdir(join(daemon.folder, 'data', path), { recursive: true })
      return {
        user: name,
        password: `secret of ${name}`,
        email: `${name}@dav.test`,
        homePath,
        calendarHomePath,
      }
    },
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  }
}
