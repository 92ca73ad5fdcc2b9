/**
 * With https the name has the prefix `__Host-`: no other host, such as a subdomain, can then set the cookie (RFC 6265bis
 * section 4.1.3.2). Browsers store it over http only without that prefix and without `Secure`.
 */
export const prefixedName = (isHttps: boolean, name: string): string => (isHttps ? `__Host-${name}` : name)

/** The `Set-Cookie` of a sign-in. It is Lax, since the provider's page sends the browser back with it. */
export function browserCookie(
  isHttps: boolean,
  { name, value, maxAgeSeconds }: { name: string; value: string; maxAgeSeconds: number },
): string {
  const secure = isHttps ? '; Secure' : ''
  return `${prefixedName(isHttps, name)}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`
}
