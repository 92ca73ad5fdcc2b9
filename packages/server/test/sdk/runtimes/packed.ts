import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
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
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-sdk-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  await run('npm', ['run', 'pack', '--', '-w', '@waxwing/sdk', '--pack-destination', folder], { cwd: ROOT })
  const tarball = (await readdir(folder)).find(name => name.endsWith('.tgz')) ?? ''
  await writeFile(path.join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', path.join(folder, tarball)], {
    cwd: folder,
  })
  for (const name of PROGRAMS) await cp(path.join(import.meta.dirname, name), path.join(folder, name))
  const owned = opened.move()
  return { folder, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}
