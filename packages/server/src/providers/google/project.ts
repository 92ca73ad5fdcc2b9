/** `1072944905499-abc.apps.googleusercontent.com`: the number of the project that the app belongs to comes first. */
const CLIENT_ID = /^(\d{6,20})(?:-[a-z0-9]+)?\.apps\.googleusercontent\.com$/

/**
 * The name by which the quotas of an OAuth app are counted: its project, or the client id if that does not contain one.
 */
export function projectOf(clientId: string): string {
  return CLIENT_ID.exec(clientId)?.[1] ?? clientId
}
