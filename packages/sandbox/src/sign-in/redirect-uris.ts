const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost'])

/** Whether the answer for a client may go to a URI. `redirectUris` are exact; `loopback` stands for any on loopback. */
export function isRedirectAllowed(
  { redirectUris }: { readonly redirectUris: readonly string[] },
  redirectUri: string,
): boolean {
  if (redirectUris.includes(redirectUri)) return true
  if (!redirectUris.includes('loopback') || !URL.canParse(redirectUri)) return false
  const { protocol, hostname, hash } = new URL(redirectUri)
  return /^https?:$/.test(protocol) && LOOPBACK_HOSTS.has(hostname) && hash === ''
}
