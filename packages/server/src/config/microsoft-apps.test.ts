import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  expiredLongAgo,
  makeAppCertificate,
  type MadeCertificate,
} from '../../test/microsoft/app-certificate.ts'
import { ConfigError, type Environment, readConfig } from '../config.ts'
import { operatorsApps } from '../providers/operators-apps.ts'

const PREFIXES = {
  global: 'WAXWING_MICROSOFT',
  'gcc-high': 'WAXWING_MICROSOFT_GCC_HIGH',
  dod: 'WAXWING_MICROSOFT_DOD',
  china: 'WAXWING_MICROSOFT_CHINA',
}
const ID = 'WAXWING_MICROSOFT_CLIENT_ID'
const SECRET = 'WAXWING_MICROSOFT_CLIENT_SECRET'
const CERTIFICATE = 'WAXWING_MICROSOFT_CERTIFICATE_FILE'
const KEY = 'WAXWING_MICROSOFT_PRIVATE_KEY_FILE'

let folder: string
let made: MadeCertificate
const at = (name: string) => join(folder, name)
const read = (environment: Environment) => readConfig(environment, { isRoot: false, isTerminal: false })

function problemsOf(environment: Environment): string[] {
  try {
    read(environment)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'microsoft-apps-'))
  const [other, elliptic] = await Promise.all([makeAppCertificate(), makeAppCertificate({ key: 'ec' })])
  made = await makeAppCertificate()
  const files = {
    'app.crt': made.certificate,
    'app.key': made.privateKey,
    'other.key': other.privateKey,
    'elliptic.crt': elliptic.certificate,
    'expired.crt': expiredLongAgo(made).certificate,
    'text.txt': 'no PEM',
  }
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(at(name), text)))
})
afterAll(() => rm(folder, { recursive: true }))

describe('the operator’s apps at Microsoft', () => {
  test('are one for each cloud, with a secret or a certificate', () => {
    const environment = Object.fromEntries(
      Object.entries(PREFIXES).flatMap(([cloud, prefix]) =>
        cloud === 'dod'
          ? [
              [`${prefix}_CLIENT_ID`, cloud],
              [`${prefix}_CERTIFICATE_FILE`, at('app.crt')],
              [`${prefix}_PRIVATE_KEY_FILE`, at('app.key')],
            ]
          : [
              [`${prefix}_CLIENT_ID`, cloud],
              [`${prefix}_CLIENT_SECRET`, `secret of ${cloud}`],
            ],
      ),
    )
    const apps = operatorsApps(read(environment))
    expect(apps.map(({ provider, cloud, clientId }) => [provider, cloud, clientId])).toEqual(
      Object.keys(PREFIXES).map(cloud => ['microsoft', cloud, cloud]),
    )
    for (const { cloud, credential, settings } of apps) {
      const value = credential.type === 'secret' ? credential.secret : credential.privateKey
      expect(value.reveal()).toBe(cloud === 'dod' ? made.privateKey : `secret of ${cloud}`)
      expect(settings.every(name => name in environment)).toBe(true)
    }
    expect(JSON.stringify(read(environment))).not.toContain(made.privateKey.slice(40, 80))
  })

  test.each<[string, () => Environment, RegExp]>([
    [
      'a secret without an id',
      () => ({ [SECRET]: 's' }),
      /CLIENT_ID is needed together with .*CLIENT_SECRET/,
    ],
    ['an id alone', () => ({ [ID]: 'i' }), /CLIENT_SECRET, or .*, is needed together with .*CLIENT_ID/],
    [
      'a certificate without its key',
      () => ({ [ID]: 'i', [CERTIFICATE]: at('app.crt') }),
      /PRIVATE_KEY_FILE is needed/,
    ],
    [
      'a key without its certificate',
      () => ({ [ID]: 'i', [KEY]: at('app.key') }),
      /CERTIFICATE_FILE is needed/,
    ],
    [
      'both',
      () => ({ [ID]: 'i', [SECRET]: 's', [CERTIFICATE]: at('app.crt'), [KEY]: at('app.key') }),
      /CLIENT_SECRET must not be set with/,
    ],
    [
      'the key of another certificate',
      () => ({ [ID]: 'i', [CERTIFICATE]: at('app.crt'), [KEY]: at('other.key') }),
      /PRIVATE_KEY_FILE must have the key of/,
    ],
    [
      'a certificate of another kind',
      () => ({ [ID]: 'i', [CERTIFICATE]: at('elliptic.crt'), [KEY]: at('app.key') }),
      /CERTIFICATE_FILE must have a certificate with an RSA key/,
    ],
    [
      'a file that is no PEM',
      () => ({ [ID]: 'i', [CERTIFICATE]: at('text.txt') }),
      /CERTIFICATE_FILE must name a file in PEM/,
    ],
    [
      'a file that is not there',
      () => ({ [ID]: 'i', [KEY]: at('missing') }),
      /PRIVATE_KEY_FILE must name a file in PEM/,
    ],
  ])('are refused with %s', (_, environment, message) => {
    expect(problemsOf(environment()).join('\n')).toMatch(message)
  })

  test('may have an expired certificate, with which the service still starts', () => {
    const environment = { [ID]: 'i', [CERTIFICATE]: at('expired.crt'), [KEY]: at('app.key') }
    expect(problemsOf(environment)).toEqual([])
  })
})
