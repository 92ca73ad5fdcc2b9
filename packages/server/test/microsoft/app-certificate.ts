import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { requireProgram } from '../servers/install.ts'

const run = promisify(execFile)

export interface MadeCertificate {
  certificate: string
  privateKey: string
}

/** Makes a certificate by which an app proves itself, signed by its own key. */
export async function makeAppCertificate({
  key = 'rsa:2048',
}: { key?: string } = {}): Promise<MadeCertificate> {
  const folder = await mkdtemp(join(tmpdir(), 'app-certificate-'))
  try {
    const [certificate, privateKey] = [join(folder, 'app.crt'), join(folder, 'app.key')]
    const kind = key === 'ec' ? ['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'] : [key]
    const files = ['-keyout', privateKey, '-out', certificate]
    const subject = ['-days', '2', '-subj', '/CN=Waxwing test app']
    await run(requireProgram('openssl'), ['req', '-x509', '-nodes', '-newkey', ...kind, ...subject, ...files])
    return {
      certificate: await readFile(certificate, 'utf8'),
      privateKey: await readFile(privateKey, 'utf8'),
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** The certificate as if it had been made twenty years ago. Its signature no longer holds, which nobody checks. */
export function expiredLongAgo({ certificate, privateKey }: MadeCertificate): MadeCertificate {
  const der = Buffer.from(certificate.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
  const utcTime = Buffer.from([0x17, 0x0d])
  for (let at = der.indexOf(utcTime); at !== -1; at = der.indexOf(utcTime, at + 1)) der.write('06', at + 2)
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return {
    certificate: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
    privateKey,
  }
}
