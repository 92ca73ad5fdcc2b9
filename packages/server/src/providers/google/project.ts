/** `1072944905499-abc.apps.googleusercontent.com`: the number of the project that the app belongs to comes first. */
const CLIENT_ID = /^(\d{6,20})(?:-[a-z0-9]+)?\.apps\.googleusercontent\.com$/

/** What the quotas of an OAuth app are counted by: its project, or the client id if that does not tell. */
export function projectOf(clientId: string): string {
  return CLIENT_ID.exec(clientId)?.[1] ?? clientId
}
