export default { storeroom: { input: "./openapi.json", output: { target: "./orval.ts", client: "fetch" } } };
