import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test, vi } from 'vitest'
import { startDovecot } from './dovecot.ts'

function isAlive(processGroup: number) {
  try {
    return process.kill(-processGroup, 0)
  } catch {
    return false
  }
}

test('a server ends with the process that started it, however that one ends', async () => {
  const script = `
    const { startDovecot } = await import(${JSON.stringify(new URL('dovecot.ts', import.meta.url).href)})
    const server = await startDovecot()
    console.log(server.logFile)
    setInterval(() => {}, 1000)`
  const owner = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const logFile = await new Promise<string>(resolve =>
    owner.stdout.once('data', (text: Buffer) => resolve(text.toString().trim())),
  )
  expect(existsSync(logFile)).toBe(true)

  owner.kill('SIGKILL')

  await vi.waitFor(() => expect(existsSync(dirname(logFile))).toBe(false), { timeout: 60_000, interval: 20 })
})

test('a disposed server leaves nothing behind', async () => {
  let group = 0
  let folder = ''
  {
    await using server = await startDovecot()
    folder = dirname(server.logFile)
    group = server.processGroup
    expect(isAlive(group)).toBe(true)
  }

  expect(existsSync(folder)).toBe(false)
  await vi.waitFor(() => expect(isAlive(group)).toBe(false), { timeout: 60_000, interval: 20 })
})
