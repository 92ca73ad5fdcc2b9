import type { Config } from '../../config.ts'
import { type Finding, ok, warning } from './finding.ts'

/** What the settings allow that is better not allowed. That each is valid is known already. */
export function checkSettings({ allowPlaintext, egressAllow, trustProxy, baseUrl }: Config): Finding[] {
  const findings: Finding[] = []
  if (allowPlaintext) {
    findings.push(
      warning(
        'settings',
        'Mail servers may be used without TLS, so that passwords can be read on the way.',
        'Take WAXWING_ALLOW_PLAINTEXT away once no account needs it.',
      ),
    )
  }
  if (egressAllow.length > 0) {
    findings.push(ok('settings', `Private mail servers may be reached: ${egressAllow.join(', ')}`))
  }
  if (baseUrl?.startsWith('https:') && trustProxy.length === 0) {
    findings.push(
      warning(
        'settings',
        'A proxy speaks HTTPS in front of the service, and is taken for the one client of everybody.',
        'Set WAXWING_TRUST_PROXY to the address of the proxy.',
      ),
    )
  }
  return findings.length > 0 ? findings : [ok('settings', 'All settings are valid.')]
}

const LOOPBACK = /^(?:localhost|127\.[\d.]+|\[?::1\]?)$/

/** Whether clients reach the API where they are told it is, and without being overheard. */
export function checkBaseUrl({ baseUrl, host, port }: Config): Finding {
  if (baseUrl === null) {
    if (LOOPBACK.test(host)) return ok('base URL', `http://${host}:${port}, for this machine only.`)
    return warning(
      'base URL',
      `The API listens on ${host}, and does not know how clients reach it.`,
      'Set WAXWING_BASE_URL, such as https://mail.example.com.',
    )
  }
  const url = new URL(baseUrl)
  if (url.protocol === 'https:' || LOOPBACK.test(url.hostname)) return ok('base URL', baseUrl)
  return warning(
    'base URL',
    `${baseUrl} is not HTTPS: keys and mail can be read on the way.`,
    'Put a proxy that speaks HTTPS in front, and name its address in WAXWING_BASE_URL.',
  )
}
