import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { validate } from 'dockerfile-utils'
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { stopSecondsMax } from '../../src/cli/serve.ts'
import { readConfig } from '../../src/config.ts'
import { requireProgram } from '../servers/install.ts'
import { DEPLOY, readDeployed, readEnvironment, readYaml, REPOSITORY } from './files.ts'

const run = promisify(execFile)
const USER = { isRoot: false, isTerminal: false }

describe('the Dockerfile', () => {
  const text = readDeployed('Dockerfile')
  /** The instructions of the last stage, with their continued lines. */
  const image = text.slice(text.lastIndexOf('\nFROM ')).replaceAll('\\\n', ' ').split('\n')
  const find = (name: string) => image.find(line => line.startsWith(`${name} `))?.slice(name.length + 1) ?? ''

  test('has no faults', () => {
    expect(validate(text).map(({ message, range }) => `${range.start.line + 1}: ${message}`)).toEqual([])
  })

  test('runs the service itself, not as root', () => {
    expect(JSON.parse(find('ENTRYPOINT'))).toEqual(['node', '/opt/waxwing/packages/server/bin/waxwing.js'])
    expect(JSON.parse(find('CMD'))).toEqual(['serve'])
    expect(find('USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/)
    expect(image.find(line => line.includes('/health/live'))).toMatch(/^ *HEALTHCHECK .* CMD \["node"/)
  })

  test('sets settings that exist', () => {
    const settings = [...find('ENV').matchAll(/(WAXWING_\w+)=(\S+)/g)].map(([, name, value]) => [name, value])
    expect(settings.length).toBeGreaterThan(0)
    expect(readConfig(Object.fromEntries(settings), USER)).toMatchObject({ host: '0.0.0.0' })
  })

  test('copies files that exist', () => {
    const copied = [...text.matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(([, files = '']) => files.split(' '))
    expect(copied.length).toBeGreaterThan(5)
    expect(copied.filter(file => !existsSync(path.join(REPOSITORY, file)))).toEqual([])
    const needed = ['package.json', 'package-lock.json', '.npmrc', 'LICENSE', 'packages', 'docs', 'scripts']
    expect(readDeployed('../.dockerignore').split('\n')).toEqual(
      expect.arrayContaining(needed.map(file => `!${file}`)),
    )
  })
})

interface Service {
  image: string
  environment?: Record<string, string>
  stop_grace_period?: string
  read_only?: boolean
}

test('the compose file is valid, with settings that are, and leaves time to stop', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-compose-'))
  try {
    await copyFile(path.join(DEPLOY, 'compose.yaml'), path.join(folder, 'compose.yaml'))
    for (const name of ['waxwing.env', 'postgres.env', 'objects.env'])
      await copyFile(path.join(DEPLOY, `${name}.example`), path.join(folder, name))
    const { stdout } = await run(requireProgram('docker-compose'), ['-f', 'compose.yaml', 'config'], {
      cwd: folder,
    })
    const [resolved] = readYaml(stdout) as [{ services: Record<string, Service> }]
    const ours = Object.values(resolved.services).filter(({ image }) => image === 'waxwing')
    const roles = ours.flatMap(service => {
      const { roles: own, noticeSeconds, databaseUrl } = readConfig(service.environment ?? {}, USER)
      expect(databaseUrl).not.toBeNull()
      expect(service.read_only).toBe(true)
      expect(secondsOf(service.stop_grace_period)).toBeGreaterThanOrEqual(stopSecondsMax(noticeSeconds))
      return own
    })
    expect(roles.toSorted()).toEqual(['api', 'jobs', 'sync'])
    // Other programs are not given the secrets of the service.
    for (const { image, environment = {} } of Object.values(resolved.services))
      if (image !== 'waxwing') expect(environment).not.toHaveProperty('WAXWING_SECRET_KEY')
  } finally {
    await rm(folder, { recursive: true })
  }
})

/** Reads a duration such as `2m30s`, as docker-compose writes it. */
function secondsOf(duration = ''): number {
  const [, minutes = 0, seconds = 0] = /^(?:(\d+)m)?(?:(\d+)s)?$/.exec(duration) ?? []
  return Number(minutes) * 60 + Number(seconds)
}

describe('the unit for systemd', () => {
  const unit = readDeployed('waxwing.service')

  test('is valid, safe, and leaves time to stop', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-unit-'))
    try {
      const file = path.join(folder, 'waxwing.service')
      await writeFile(file, unit.replaceAll('/opt/waxwing', REPOSITORY))
      // It reports faults on standard error.
      expect(await run(requireProgram('systemd-analyze'), ['verify', '--man=no', file])).toMatchObject({
        stderr: '',
      })
      await run(requireProgram('systemd-analyze'), ['security', '--offline=true', '--threshold=20', file])
    } finally {
      await rm(folder, { recursive: true })
    }
    const { noticeSeconds } = readConfig({}, USER)
    const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(unit) ?? []
    expect(Number(seconds)).toBeGreaterThanOrEqual(stopSecondsMax(noticeSeconds))
  })

  test('names files that exist in a clone', () => {
    const named = [...unit.matchAll(/\/opt\/waxwing(\/\S+)/g)].map(([, file = '']) =>
      path.join(REPOSITORY, file),
    )
    expect(named.length).toBeGreaterThan(2)
    expect(named.filter(file => !existsSync(file))).toEqual([])
  })

  test('sets settings that exist', () => {
    const lines = [...unit.matchAll(/^Environment=(.+)$/gm)].map(([, line = '']) => line).join('\n')
    expect(readConfig(readEnvironment(lines), USER)).toMatchObject({ dataDir: '/var/lib/waxwing' })
  })
})
