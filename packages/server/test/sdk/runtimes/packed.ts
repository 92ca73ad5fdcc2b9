import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = path.resolve(import.meta.dirname, '../../../../..')
const PROGRAMS = ['program.mjs', 'from-file.mjs', 'worker.mjs']

export interface PackedClient extends AsyncDisposable {
  /** A folder in which nothing is installed but the client, with the programs that use it. */
  folder: string
}

/** Installs the client as it is published, with npm, in an empty folder. */
export async function installPackedClient(): Promise<PackedClient> {
  await using opened = new AsyncDisposableStack()
  const clone = opened.use(await makeFolder())
  const installed = opened.use(await makeFolder())
  const tarball = await pack(clone.path)
  const folder = installed.path
  await writeFile(path.join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: folder })
  for (const name of PROGRAMS) await cp(path.join(import.meta.dirname, name), path.join(folder, name))
  const owned = opened.move()
  return { folder, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Packs the client from a copy of its sources: another test may pack it at the same time. @returns the tarball */
async function pack(clone: string): Promise<string> {
  const target = path.join(clone, 'packages/sdk')
  for (const name of ['package.json', 'tsconfig.build.json', 'src'])
    await cp(path.join(ROOT, 'packages/sdk', name), path.join(target, name), { recursive: true })
  await cp(path.join(ROOT, 'tsconfig.json'), path.join(clone, 'tsconfig.json'))
  for (const name of ['node_modules', 'scripts']) await symlink(path.join(ROOT, name), path.join(clone, name))
  await run('npm', ['pack', '--ignore-scripts=false', '--pack-destination', clone], { cwd: target })
  const tarball = (await readdir(clone)).find(name => name.endsWith('.tgz')) ?? ''
  return path.join(clone, tarball)
}

async function makeFolder() {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-sdk-'))
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}
