import type { Config } from '../../config.ts'
import { type Finding, ok, warning } from './finding.ts'

/** Warns about settings that are valid but risky. Their validity was checked before. */
export function checkSettings(config: Config): Finding[] {
  const { allowPlaintext, egressAllow, webhookAllow, sandboxUrl, trustProxy, baseUrl } = config
  const findings: Finding[] = []
  if (allowPlaintext) {
    findings.push(
      warning(
        'settings',
        'Mail servers may be used without TLS, so passwords can be read on the network.',
        'Remove WAXWING_ALLOW_PLAINTEXT when no account needs it any more.',
      ),
    )
  }
  if (egressAllow.length > 0) {
    findings.push(ok('settings', `Private mail servers may be reached: ${egressAllow.join(', ')}`))
  }
  if (webhookAllow.length > 0) {
    findings.push(ok('settings', `Private targets of webhooks may be reached: ${webhookAllow.join(', ')}`))
  }
  if (sandboxUrl !== null) {
    findings.push(
      warning(
        'settings',
        `The sandbox at ${sandboxUrl} plays the providers: no account of theirs is real.`,
        'Remove WAXWING_SANDBOX_URL to use the providers themselves.',
      ),
    )
  }
  if (baseUrl?.startsWith('https:') && trustProxy.length === 0) {
    findings.push(
      warning(
        'settings',
        'There is an HTTPS proxy in front of the service, and all requests count as coming from this one client.',
        'Set WAXWING_TRUST_PROXY to the address of the proxy.',
      ),
    )
  }
  return findings.length > 0 ? findings : [ok('settings', 'All settings are valid.')]
}

const LOOPBACK = /^(?:localhost|127\.[\d.]+|\[?::1\]?)$/

/** Whether clients reach the API at the address that they are given, and without being overheard. */
export function checkBaseUrl({ baseUrl, host, port }: Config): Finding {
  if (baseUrl === null) {
    if (LOOPBACK.test(host)) return ok('base URL', `http://${host}:${port}, for this machine only.`)
    return warning(
      'base URL',
      `The API listens on ${host}, but its public address is not set.`,
      'Set WAXWING_BASE_URL, such as https://mail.example.com.',
    )
  }
  const url = new URL(baseUrl)
  if (url.protocol === 'https:' || LOOPBACK.test(url.hostname)) return ok('base URL', baseUrl)
  return warning(
    'base URL',
    `${baseUrl} is not HTTPS: keys and mail can be read on the network.`,
    'Put an HTTPS proxy in front, and set WAXWING_BASE_URL to its address.',
  )
}
