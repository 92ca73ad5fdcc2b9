import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { guardProcess } from './guard/guard.ts'
import { findFreePorts } from './servers/daemon.ts'
import { until } from './service-process.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
/** Without the Node.js of this clone: what a newcomer has. */
const PATH = (process.env['PATH'] ?? '')
  .split(':')
  .filter(folder => !folder.includes('node_modules'))
  .join(':')

type Packages = Record<string, Record<string, unknown>>

const ONE = { 'node_modules/one': { version: '1.0.0', integrity: 'sha512-one' } }
const OURS = { os: [process.platform], cpu: [process.arch] }
const OTHERS = { os: ['aix'], cpu: ['ppc64'] }

interface Given {
  wanted: Packages
  /** The packages that npm has noted; null without a folder for them. */
  installed: Packages | null
}

/** A clone with the real script, and with an npm that installs what is wanted. */
async function makeClone({ wanted, installed }: Given) {
  const root = await mkdtemp(path.join(tmpdir(), 'waxwing-clone-'))
  const inClone = (...parts: string[]) => path.join(root, ...parts)
  const { scripts } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8'))
  for (const folder of ['scripts', 'programs']) await mkdir(inClone(folder))
  await cp(path.join(ROOT, 'scripts/install-packages.js'), inClone('scripts/install-packages.js'))
  await writeFile(inClone('package.json'), JSON.stringify({ type: 'module', scripts }))
  await writeFile(inClone('package-lock.json'), JSON.stringify({ packages: { '': {}, ...wanted } }))
  const put = async (folder: string, packages: Packages) => {
    for (const place of Object.keys(packages)) await mkdir(path.join(folder, place), { recursive: true })
    await mkdir(path.join(folder, 'node_modules'), { recursive: true })
    await writeFile(path.join(folder, 'node_modules/.package-lock.json'), JSON.stringify({ packages }))
  }
  await put(inClone('registry'), wanted)
  await mkdir(inClone('registry/node_modules/.bin'))
  await symlink(process.execPath, inClone('registry/node_modules/.bin/node'))
  if (installed) await put(root, installed)
  await writeFile(inClone('programs/npm'), `#!/bin/sh\ntest "$1" = ci && cp -R registry/node_modules .\n`)
  await chmod(inClone('programs/npm'), 0o755)

  const basic = { PATH: `${inClone('programs')}:${PATH}`, HOME: root }
  const run = (file: string, args: string[] = [], env: Record<string, string> = {}) =>
    new Promise<{ code: unknown; output: string }>(resolve => {
      const options = { cwd: root, env: { ...basic, ...env } }
      execFile(file, args, options, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, output: stdout + stderr }),
      )
    })
  return {
    inClone,
    run,
    start: () => spawn(process.execPath, ['scripts/install-packages.js'], { cwd: root, env: basic }),
    check: (...args: string[]) => run(process.execPath, ['scripts/install-packages.js', ...args]),
    isThere: (place: string) => existsSync(inClone('node_modules', place)),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  }
}

test.concurrent.each<[string, Given, ...string[]]>([
  ['nothing is installed', { wanted: ONE, installed: null }],
  ['a package is missing', { wanted: { ...ONE, 'node_modules/two': { version: '1.0.0' } }, installed: ONE }],
  ['a version differs', { wanted: ONE, installed: { 'node_modules/one': { version: '0.9.0' } } }],
  [
    'the same version has other content',
    {
      wanted: ONE,
      installed: { 'node_modules/one': { version: '1.0.0', integrity: 'sha512-other' } },
    },
  ],
  [
    'one for this machine is missing',
    {
      wanted: { ...ONE, 'node_modules/ours': { version: '1.0.0', optional: true, ...OURS } },
      installed: ONE,
    },
  ],
  [
    'a package of the tests is missing',
    {
      wanted: { ...ONE, 'node_modules/tests': { version: '1.0.0', dev: true } },
      installed: ONE,
    },
  ],
])('installs if %s', async (_, given) => {
  await using clone = await makeClone(given)
  const { code, output } = await clone.check()
  expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('Running "npm ci"') })
  expect(await clone.check()).toEqual({ code: 0, output: '' })
})

test.concurrent.each<[string, Packages, ...string[]]>([
  ['nothing is missing', {}],
  ['one for another system is missing', { 'node_modules/theirs': { optional: true, ...OTHERS } }],
  ['one for another C library is missing', { 'node_modules/c': { optional: true, ...OURS, libc: ['musl'] } }],
  ['what another package may use is missing', { 'node_modules/may': { optional: true } }],
  ['a package of the tests is missing and not needed', { 'node_modules/tests': { dev: true } }, '--omit=dev'],
])('does and prints nothing if %s', async (_, more, ...args) => {
  await using clone = await makeClone({ wanted: { ...ONE, ...more }, installed: ONE })
  const future = new Date(Date.now() + 3_600_000)
  await utimes(clone.inClone('package-lock.json'), future, future)
  expect(await clone.check(...args)).toEqual({ code: 0, output: '' })
  expect(clone.isThere('.bin/node')).toBe(false)
})

test.concurrent('installs if the folder of a package is gone', async () => {
  await using clone = await makeClone({ wanted: ONE, installed: ONE })
  await rm(clone.inClone('node_modules/one'), { recursive: true })
  expect((await clone.check()).output).toContain('Running "npm ci"')
  expect(clone.isThere('one')).toBe(true)
})

test.concurrent('npm test begins again on the Node.js that was installed, with its arguments', async () => {
  await using clone = await makeClone({ wanted: ONE, installed: null })
  await writeFile(
    clone.inClone('scripts/test.ts'),
    'const given: string[] = process.argv.slice(2)\nconsole.log(process.argv0, process.execPath, given)',
  )
  const npm = PATH.split(':').map(folder => path.join(folder, 'npm'))
  const found = await Promise.any(npm.map(async file => (await readFile(file), file)))
  const { code, output } = await clone.run(found, ['test', '--', '--no-servers', 'x.test.ts'])
  expect({ code, output }).toMatchObject({ code: 0 })
  expect(output).toContain(`node ${process.execPath} [ '--no-servers', 'x.test.ts' ]`)
})

test.concurrent('without the registry, reports that and keeps the packages that are there', async () => {
  const [port = 0] = await findFreePorts(1)
  const one = {
    version: '1.0.0',
    resolved: `http://127.0.0.1:${port}/one.tgz`,
    integrity: `sha512-${'a'.repeat(86)}==`,
  }
  await using clone = await makeClone({ wanted: { 'node_modules/one': one }, installed: ONE })
  await rm(clone.inClone('programs/npm'))
  const itself = { name: 'clone', version: '1.0.0', dependencies: { one: '1.0.0' } }
  const packages = { '': itself, 'node_modules/one': one }
  await writeFile(clone.inClone('package.json'), JSON.stringify(itself))
  await writeFile(
    clone.inClone('package-lock.json'),
    JSON.stringify({ ...itself, lockfileVersion: 3, requires: true, packages }),
  )
  await writeFile(clone.inClone('.npmrc'), 'fetch-retries=0\n')
  await writeFile(clone.inClone('node_modules/one/index.js'), '')
  const { code, output } = await clone.check()
  expect({ code, output }).toMatchObject({ code: 1 })
  expect(output).toContain('The registry of npm cannot be reached, so nothing was installed.')
  expect(output).toContain('are still there')
  expect(clone.isThere('one/index.js')).toBe(true)
})

test.concurrent('an interrupted installation loses nothing', async () => {
  await using clone = await makeClone({ wanted: ONE, installed: ONE })
  // Killed while npm worked.
  await mkdir(clone.inClone('.npm-ci'))
  await cp(clone.inClone('node_modules'), clone.inClone('.npm-ci/node_modules'), { recursive: true })
  await rm(clone.inClone('node_modules/.package-lock.json'))
  const { pid = 0 } = await new Promise<{ pid?: number | undefined }>(resolve => {
    const ended = execFile('true', () => resolve(ended))
  })
  await writeFile(clone.inClone('.npm-ci/pid'), String(pid))
  expect(await clone.check()).toEqual({ code: 0, output: '' })
  expect(clone.isThere('one')).toBe(true)

  await mkdir(clone.inClone('.npm-ci'))
  await writeFile(clone.inClone('.npm-ci/pid'), String(process.pid))
  const { code, output } = await clone.check()
  expect({ code, output }).toMatchObject({ code: 1 })
  expect(output).toContain(`Process ${process.pid} installs packages`)
})

/** Makes the script die where it has begun to remove what it put aside. */
const DYING = `data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  const remove = fs.rmSync
  fs.rmSync = (place, options) => {
    if (!place.endsWith('.npm-ci')) return remove(place, options)
    for (const file of fs.globSync(place + '/*/one')) remove(file, options)
    process.kill(process.pid, 'SIGKILL')
  }
  syncBuiltinESMExports()`)}`

test.concurrent('an installation that is interrupted after npm succeeded is not undone', async () => {
  const wanted = { ...ONE, 'node_modules/two': { version: '1.0.0' } }
  await using clone = await makeClone({ wanted, installed: ONE })
  const args = ['--import', DYING, 'scripts/install-packages.js']
  expect((await clone.run(process.execPath, args)).output).toContain('Running "npm ci"')
  expect(existsSync(clone.inClone('.npm-ci'))).toBe(true)

  expect(await clone.check()).toEqual({ code: 0, output: '' })
  expect([clone.isThere('one'), clone.isThere('two')]).toEqual([true, true])
  expect(existsSync(clone.inClone('.npm-ci'))).toBe(false)
})

test.concurrent('packages that were put aside stay there while an npm runs whose script was killed', async () => {
  const wanted = { ...ONE, 'node_modules/two': { version: '1.0.0' } }
  await using clone = await makeClone({ wanted, installed: ONE })
  const program = clone.inClone('programs/npm')
  const working = await readFile(program, 'utf8')
  await writeFile(program, '#!/bin/sh\nmkdir node_modules\necho "npm is $$" >&2\nexec sleep 60\n')
  const script = clone.start()
  guardProcess(script)
  const ended = once(script, 'exit')
  let output = ''
  script.stderr.setEncoding('utf8').on('data', (text: string) => void (output += text))
  await until(() => /npm is \d+\n/.test(output), 'npm works')
  const npm = Number(/npm is (\d+)/.exec(output)?.[1])
  try {
    script.kill('SIGKILL')
    await ended
    const refused = await clone.check()
    expect(refused).toMatchObject({ code: 1, output: expect.stringContaining(`"kill ${npm}"`) })
    expect(clone.isThere('one')).toBe(false)
    await writeFile(program, working)
  } finally {
    process.kill(npm, 'SIGKILL')
  }
  await until(async () => (await clone.check()).code === 0, 'the packages are installed')
  expect([clone.isThere('one'), clone.isThere('two')]).toEqual([true, true])
})
