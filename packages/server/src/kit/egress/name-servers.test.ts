import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startDnsServer } from '../../../test/dns-server.ts'
import { parseEgressAllow } from './allow-list.ts'
import { nameServerResolver } from './name-servers.ts'
import { targetGuard } from './target-guard.ts'

const PUBLIC = '93.184.215.14'
/** More than the process has threads for names. */
const SILENT_LOOKUPS = 50

test('names resolve while other name servers never answer', async () => {
  await using dns = await startDnsServer({ 'hooks.example.com': { A: [PUBLIC] } })
  const guard = targetGuard({
    allow: parseEgressAllow([]),
    allowHttp: false,
    resolve: nameServerResolver({ servers: [dns.address] }),
  })
  let ended = 0
  const silent = Array.from({ length: SILENT_LOOKUPS }, async (_, number) => {
    const name = `silent-${number}.example.org`
    dns.silent.add(name)
    const outcome = await guard.resolve(new URL(`https://${name}/`)).catch((error: unknown) => error)
    ended++
    return outcome
  })
  for (let each = 0; each < 10; each++) {
    const { addresses } = await guard.resolve(new URL('https://hooks.example.com/'))
    expect(addresses).toEqual([PUBLIC])
  }
  expect(ended).toBe(0)
  for (const outcome of await Promise.all(silent))
    expect(outcome).toMatchObject({ name: 'EgressUnresolved', isTemporary: true })
})

test('a name that does not exist is told from one without an answer', async () => {
  await using dns = await startDnsServer({ 'mail.example.org': { MX: ['10 mx.example.org'] } })
  const resolve = nameServerResolver({ servers: [dns.address] })
  await expect(resolve('nowhere.example.org')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  await expect(resolve('mail.example.org')).rejects.toMatchObject({ code: 'ENODATA' })
})

test('the hosts file goes first', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'waxwing-hosts-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const hostsFile = join(folder, 'hosts')
  await writeFile(
    hostsFile,
    '# own\n127.0.0.1 localhost\n10.0.0.7\tHooks.test other.test # two\nfd00::7 hooks.test\n',
  )
  await using dns = await startDnsServer({ 'elsewhere.test': { A: [PUBLIC] } })
  const resolve = nameServerResolver({ servers: [dns.address], hostsFile })
  expect(await resolve('hooks.test')).toEqual(['10.0.0.7', 'fd00::7'])
  expect(await resolve('other.test')).toEqual(['10.0.0.7'])
  expect(dns.questions).toEqual([])
  expect(await resolve('elsewhere.test')).toEqual([PUBLIC])
})
