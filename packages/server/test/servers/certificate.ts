import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { requireProgram } from './install.ts'

const run = promisify(execFile)

/**
 * Makes a certificate authority of its own and a server certificate for `names` in `folder`: `ca.crt`, `server.crt`
 * and `server.key`. Returns the authority as PEM.
 */
export async function makeCertificates(folder: string, names = ['localhost', '127.0.0.1']): Promise<string> {
  const at = (file: string) => join(folder, file)
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const alternatives = names.map(name => (/^[\d.]+$/.test(name) ? `IP:${name}` : `DNS:${name}`)).join(',')
  await writeFile(at('server.ext'), `subjectAltName=${alternatives}\nextendedKeyUsage=serverAuth\n`)

  const openssl = (...args: string[]) => run(requireProgram('openssl'), args)
  const authority = ['-subj', '/CN=Waxwing test authority', '-addext', 'keyUsage=critical,keyCertSign']
  const files = ['-keyout', at('ca.key'), '-out', at('ca.crt')]
  await openssl('req', '-x509', ...newKey, '-days', '2', ...authority, ...files)

  const request = ['-subj', `/CN=${names[0]}`, '-keyout', at('server.key'), '-out', at('server.csr')]
  await openssl('req', ...newKey, ...request)
  const signer = ['-CA', at('ca.crt'), '-CAkey', at('ca.key'), '-CAcreateserial', '-days', '2']
  const extensions = ['-extfile', at('server.ext'), '-out', at('server.crt')]
  await openssl('x509', '-req', '-in', at('server.csr'), ...signer, ...extensions)
  return readFile(at('ca.crt'), 'utf8')
}
